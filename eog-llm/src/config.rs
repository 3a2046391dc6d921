//! The section `[llm]` of `eog.toml`, and what is built from it.

mod build;
mod check;
mod idle;
mod key;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::Arc;

use eog_core::Budget;
use eog_prompts::{ChatModel, ModelInfo};
use serde::{Deserialize, Serialize};

pub use check::{Check, CheckStatus};
pub use idle::IdleModel;

use crate::provider::parse;
use crate::{Capabilities, CapabilityChanges, CassetteMode, Meter, Prices, ReasoningEffort};

/// The section `[llm]` of `eog.toml`: which models are asked, where they are, and what may be spent.
/// `docs/models.md` explains it.
///
/// ```
/// use eog_llm::LlmConfig;
/// let config: LlmConfig = toml::from_str(r#"
///     model = "openai/gpt-5-mini"
///     fallbacks = ["ollama/qwen3"]
///     budget = { calls = 200 }
/// "#)?;
/// let key = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-from-elsewhere".to_owned());
/// let models = config.build(&key)?;
/// assert_eq!(models.explore.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LlmConfig {
    /// The model that explores, `provider/model`.
    pub model: Option<String>,
    /// The model that finalizes; the one that explores, if not given.
    pub finalize_model: Option<String>,
    /// Models that are asked, in this order, when the first has no answer.
    pub fallbacks: Vec<String>,
    /// The seed, for models that take one; 0 if not given.
    pub seed: Option<u64>,
    /// How long models shall reason that take such a setting.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The longest time of one attempt, in seconds; 120 if not given.
    pub timeout_s: Option<f64>,
    /// The longest time to connect, in seconds; 10 if not given.
    pub connect_timeout_s: Option<f64>,
    /// Further attempts after failures that may pass; 2 if not given.
    pub retries: Option<u32>,
    /// The longest response, in bytes; 8 MiB if not given.
    pub max_response_bytes: Option<usize>,
    /// What is particular to a provider, by its name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// What is particular to a model, by `provider/model`.
    pub models: BTreeMap<String, ModelConfig>,
    /// Limits for each provider that has none of its own.
    pub limits: LimitConfig,
    /// What may be spent, all models together.
    pub budget: BudgetConfig,
    /// A file with recorded traffic.
    pub cassette: Option<CassetteConfig>,
}

/// What is particular to a provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// Where it is, up to and without `chat/completions`.
    pub base_url: Option<String>,
    /// The environment variable with the key.
    pub key_env: Option<String>,
    /// The file with the key.
    pub key_file: Option<PathBuf>,
    /// Limits of all its models together.
    pub limits: Option<LimitConfig>,
}

/// What is particular to a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Where it is, if not where its provider is.
    pub base_url: Option<String>,
    /// The environment variable with the key, if not that of the provider.
    pub key_env: Option<String>,
    /// The file with the key, if not that of the provider.
    pub key_file: Option<PathBuf>,
    /// How long it shall reason.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Changes to what the table says of the model.
    pub capabilities: CapabilityChanges,
    /// What tokens cost.
    pub prices: Option<Prices>,
}

/// How much is asked for in a minute, and at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitConfig {
    /// Requests in any minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens in any minute, those of the longest possible answers included.
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Requests under way at once.
    pub concurrent: Option<NonZeroU32>,
}

/// What may be spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetConfig {
    /// Requests, failed ones included.
    pub calls: Option<u64>,
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// US dollars. All models need prices then.
    pub usd: Option<f64>,
}

/// A file with recorded traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CassetteConfig {
    /// The file.
    pub path: PathBuf,
    /// What is done with it.
    pub mode: CassetteMode,
}

/// What is built from the configuration.
#[derive(Clone)]
pub struct Models {
    /// The models for everything but finalizing: the first is asked first.
    pub explore: Vec<Arc<dyn ChatModel>>,
    /// The models for finalizing.
    pub finalize: Vec<Arc<dyn ChatModel>>,
    /// What all of them spend. Charge it with what the runs have spent that are resumed.
    pub meter: Meter,
}

/// Where environment variables come from.
pub trait Env {
    /// The variable of this name.
    fn var(&self, name: &str) -> Option<String>;
}

impl<F: Fn(&str) -> Option<String>> Env for F {
    fn var(&self, name: &str) -> Option<String> {
        self(name)
    }
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}; {advice}")]
pub struct ConfigError {
    /// What it is about: a model, or a key of the configuration.
    pub place: String,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub advice: String,
}

impl ConfigError {
    pub(crate) fn new(
        place: impl Into<String>,
        reason: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { place: place.into(), reason: reason.into(), advice: advice.into() }
    }
}

impl LlmConfig {
    /// The models that explore, by name, in the order in which they are asked.
    ///
    /// # Errors
    /// [`ConfigError`] if no model is configured.
    pub fn explore_chain(&self) -> Result<Vec<&str>, ConfigError> {
        let model = self.model.as_deref().ok_or_else(|| {
            let advice = "set --model provider/name, or model in the section [llm]";
            ConfigError::new("llm.model", "no model is configured", advice)
        })?;
        Ok(self.chain(model))
    }

    /// The models that finalize, by name, in the order in which they are asked.
    ///
    /// # Errors
    /// Those of [`Self::explore_chain`].
    pub fn finalize_chain(&self) -> Result<Vec<&str>, ConfigError> {
        match &self.finalize_model {
            Some(model) => Ok(self.chain(model)),
            None => self.explore_chain(),
        }
    }

    fn chain<'a>(&'a self, first: &'a str) -> Vec<&'a str> {
        let mut chain = vec![first];
        for name in &self.fallbacks {
            if !chain.contains(&name.as_str()) {
                chain.push(name);
            }
        }
        chain
    }

    /// What a model takes, by the table and the configuration.
    pub fn capabilities(&self, model: &str) -> Capabilities {
        let known = Capabilities::of(model);
        let Some(given) = self.models.get(model) else { return known };
        let prices = given.prices.or(known.prices);
        Capabilities { prices, ..known.with(&given.capabilities) }
    }

    /// What must be known of a model to write a prompt for it. No key is needed for that.
    ///
    /// # Errors
    /// [`ConfigError`] for a name that is none of a model.
    pub fn info(&self, model: &str) -> Result<ModelInfo, ConfigError> {
        parse(model)?;
        let capabilities = self.capabilities(model);
        Ok(ModelInfo {
            name: model.to_owned(),
            context_tokens: capabilities.context_tokens,
            max_output_tokens: capabilities.max_output_tokens,
            tokenizer: capabilities.tokenizer,
            timeout: Some(self.timeout()?),
        })
    }

    fn budget(&self) -> Result<Budget, ConfigError> {
        let cost_micro_usd = self.budget.usd.map(|usd| match usd {
            0.0..=1e9 => Ok((usd * 1e6).floor() as u64),
            _ => Err(ConfigError::new(
                "llm.budget.usd",
                format!("{usd} is no amount of money"),
                "write US dollars, such as 2.50",
            )),
        });
        let BudgetConfig { calls, tokens, .. } = self.budget;
        let cost_micro_usd = cost_micro_usd.transpose()?;
        Ok(Budget { model_calls: calls, tokens, cost_micro_usd, ..Budget::default() })
    }
}
