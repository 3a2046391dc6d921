//! The section `[llm]` of `eog.toml`, and the models built from it.

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

/// The section `[llm]` of `eog.toml`: which models to use, their addresses, and the budget. See
/// `docs/models.md`.
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
    /// The model for everything but finalizing, `provider/model`.
    pub model: Option<String>,
    /// The model for finalizing; [`Self::model`] if not given.
    pub finalize_model: Option<String>,
    /// Models to ask, in this order, when the first gives no usable answer; [`RULES`], which may stand last, is no model: the
    /// built-in policy judges what none of them answers.
    pub fallbacks: Vec<String>,
    /// Models for single roles of a tree search.
    pub roles: RolesConfig,
    /// The seed, for models that accept one; 0 if not given.
    pub seed: Option<u64>,
    /// How much to reason, for models that accept such a setting.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Time-out of one attempt, in seconds; 120 if not given.
    pub timeout_s: Option<f64>,
    /// Time-out of one connection attempt, in seconds; 10 if not given.
    pub connect_timeout_s: Option<f64>,
    /// Retries after transient failures; 2 if not given.
    pub retries: Option<u32>,
    /// Maximum length of a response, in bytes; 8 MiB if not given.
    pub max_response_bytes: Option<usize>,
    /// Settings of providers, by name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Settings of models, by `provider/model`.
    pub models: BTreeMap<String, ModelConfig>,
    /// Limits for each provider that has none of its own.
    pub limits: LimitConfig,
    /// The budget of all models together.
    pub budget: BudgetConfig,
    /// A file with recorded traffic.
    pub cassette: Option<CassetteConfig>,
}

/// The section `roles`: models for single roles of a tree search. A role without one is played by
/// [`LlmConfig::model`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RolesConfig {
    /// Chooses what to evaluate, names possible causes, and grows the tree.
    pub planner: Option<RoleConfig>,
    /// Acts: the calls of specialists, the steps of simulations.
    pub executor: Option<RoleConfig>,
    /// Gives scores, and draws lessons.
    pub evaluator: Option<RoleConfig>,
}

/// The models for one role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleConfig {
    /// The model, `provider/model`.
    pub model: String,
    /// Models to ask, in this order, when the first gives no usable answer; those of the section `[llm]` if not
    /// given.
    pub fallbacks: Option<Vec<String>>,
}

/// A role of a tree search that models can be configured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LlmRole {
    /// Chooses what to evaluate, names possible causes, and grows the tree.
    Planner,
    /// Acts: the calls of specialists, the steps of simulations.
    Executor,
    /// Gives scores, and draws lessons.
    Evaluator,
}

impl LlmRole {
    /// All that there are.
    pub const ALL: [Self; 3] = [Self::Planner, Self::Executor, Self::Evaluator];

    /// Its name in `eog.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Executor => "executor",
            Self::Evaluator => "evaluator",
        }
    }
}

/// Settings of a provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// Its address, up to but not including `chat/completions`.
    pub base_url: Option<String>,
    /// The environment variable with the key.
    pub key_env: Option<String>,
    /// The file with the key.
    pub key_file: Option<PathBuf>,
    /// Limits of all its models together.
    pub limits: Option<LimitConfig>,
}

/// Settings of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Its address, if not that of its provider.
    pub base_url: Option<String>,
    /// The environment variable with the key, if not that of the provider.
    pub key_env: Option<String>,
    /// The file with the key, if not that of the provider.
    pub key_file: Option<PathBuf>,
    /// How much it should reason.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Overrides of the capabilities in the table.
    pub capabilities: CapabilityChanges,
    /// What tokens cost.
    pub prices: Option<Prices>,
}

/// Rate limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitConfig {
    /// Requests in any minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens in any minute, including those of the longest possible answers.
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Concurrent requests.
    pub concurrent: Option<NonZeroU32>,
}

/// The section `budget`: what may be spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetConfig {
    /// Requests, including failed ones.
    pub calls: Option<u64>,
    /// Tokens, input and output.
    pub tokens: Option<u64>,
    /// US dollars. Requires the prices of all models.
    pub usd: Option<f64>,
}

/// A file with recorded traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CassetteConfig {
    /// The file.
    pub path: PathBuf,
    /// How it is used.
    pub mode: CassetteMode,
}

/// The models of a configuration.
#[derive(Clone)]
pub struct Models {
    /// The models for everything but finalizing, in the order in which they are asked.
    pub explore: Vec<Arc<dyn ChatModel>>,
    /// The models for finalizing, likewise.
    pub finalize: Vec<Arc<dyn ChatModel>>,
    /// The models of each role of a tree search, likewise, in the order of [`LlmRole::ALL`].
    pub roles: [Vec<Arc<dyn ChatModel>>; 3],
    /// Counts what all of them spend. Charge it with the usage of the runs that are resumed.
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
    /// The model or the key of the configuration that is wrong.
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
    /// The names of the models for everything but finalizing, in the order in which they are asked.
    ///
    /// # Errors
    /// [`ConfigError`] if no model is configured.
    pub fn explore_chain(&self) -> Result<Vec<&str>, ConfigError> {
        let model = self.model.as_deref().ok_or_else(|| {
            let advice = "set it to PROVIDER/NAME";
            ConfigError::new("llm.model", "no model is configured", advice)
        })?;
        Ok(self.chain(model))
    }

    /// The names of the models for finalizing, in the order in which they are asked.
    ///
    /// # Errors
    /// Those of [`Self::explore_chain`].
    pub fn finalize_chain(&self) -> Result<Vec<&str>, ConfigError> {
        match &self.finalize_model {
            Some(model) => Ok(self.chain(model)),
            None => self.explore_chain(),
        }
    }

    /// The names of the models for a role of a tree search, in the order in which they are asked.
    ///
    /// # Errors
    /// Those of [`Self::explore_chain`].
    pub fn role_chain(&self, role: LlmRole) -> Result<Vec<&str>, ConfigError> {
        match self.role(role) {
            Some(own) => {
                let fallbacks = own.fallbacks.as_ref().unwrap_or(&self.fallbacks);
                Ok(chain(&own.model, fallbacks))
            }
            None => self.explore_chain(),
        }
    }

    /// Whether the built-in policy judges what no model answers.
    pub fn falls_back_to_rules(&self) -> bool {
        self.fallbacks.last().is_some_and(|last| last == RULES)
    }

    /// What is configured for a role.
    pub fn role(&self, role: LlmRole) -> Option<&RoleConfig> {
        match role {
            LlmRole::Planner => self.roles.planner.as_ref(),
            LlmRole::Executor => self.roles.executor.as_ref(),
            LlmRole::Evaluator => self.roles.evaluator.as_ref(),
        }
    }

    /// Every configured model once, in the order of the chains.
    fn names(&self) -> Result<Vec<&str>, ConfigError> {
        let mut names: Vec<&str> = Vec::new();
        let roles = LlmRole::ALL.map(|role| self.role_chain(role));
        for chain in [self.explore_chain(), self.finalize_chain()].into_iter().chain(roles) {
            for name in chain? {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        Ok(names)
    }

    fn chain<'a>(&'a self, first: &'a str) -> Vec<&'a str> {
        chain(first, &self.fallbacks)
    }

    /// What a model accepts, according to the table and the configuration.
    pub fn capabilities(&self, model: &str) -> Capabilities {
        let known = Capabilities::of(model);
        let Some(given) = self.models.get(model) else { return known };
        let prices = given.prices.or(known.prices);
        Capabilities { prices, ..known.with(&given.capabilities) }
    }

    /// The properties of a model that are needed to write a prompt for it. Needs no key.
    ///
    /// # Errors
    /// [`ConfigError`] for an invalid name or time-out.
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
                format!("{usd} is not an amount of money"),
                "write US dollars, such as 2.50",
            )),
        });
        let BudgetConfig { calls, tokens, .. } = self.budget;
        for (key, limit) in [("llm.budget.calls", calls), ("llm.budget.tokens", tokens)] {
            if limit == Some(0) {
                let advice =
                    "write a number from 1 on, or policy = \"evidence\" to judge without a model";
                return Err(ConfigError::new(key, "with 0 no model can be asked", advice));
            }
        }
        let cost_micro_usd = cost_micro_usd.transpose()?;
        Ok(Budget { model_calls: calls, tokens, cost_micro_usd, ..Budget::default() })
    }
}

/// What may stand last among fallbacks in place of a model.
pub const RULES: &str = "rules";

fn chain<'a>(first: &'a str, fallbacks: &'a [String]) -> Vec<&'a str> {
    let mut chain = vec![first];
    let models = match fallbacks.split_last() {
        Some((last, models)) if last == RULES => models,
        _ => fallbacks,
    };
    for name in models {
        if !chain.contains(&name.as_str()) {
            chain.push(name);
        }
    }
    chain
}
