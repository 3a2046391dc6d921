//! What models accept, according to a table that configuration can override.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::Prices;

/// What a model accepts. What it does not accept is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Maximum tokens of prompt and answer together.
    pub context_tokens: u32,
    /// Maximum tokens of an answer.
    pub max_output_tokens: u32,
    /// The encoding to count with. If empty, a cautious default is used.
    pub tokenizer: String,
    /// Whether a temperature is accepted.
    pub temperature: bool,
    /// Whether a seed is accepted.
    pub seed: bool,
    /// How far the provider enforces a schema.
    pub structured_output: StructuredOutput,
    /// Whether a reasoning effort is accepted.
    pub reasoning_effort: bool,
    /// What tokens cost, if known.
    pub prices: Option<Prices>,
}

/// How far a provider enforces the schema of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StructuredOutput {
    /// The provider enforces the schema.
    Strict,
    /// The provider enforces a schema that is sent beside the request for a JSON object, as the server of
    /// `llama-cpp-python` does.
    JsonObjectWithSchema,
    /// The provider ensures that the answer is JSON; the prompt says its form.
    JsonObject,
    /// The prompt says the form of the answer.
    None,
}

impl StructuredOutput {
    /// The next form to try where a provider rejects this one.
    pub(crate) fn weaker(self) -> Option<Self> {
        match self {
            Self::Strict => Some(Self::JsonObjectWithSchema),
            Self::JsonObjectWithSchema => Some(Self::JsonObject),
            Self::JsonObject => Some(Self::None),
            Self::None => None,
        }
    }
}

/// How much a model should reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningEffort {
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

/// Overrides of the table for one model. What is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CapabilityChanges {
    /// See [`Capabilities::context_tokens`].
    pub context_tokens: Option<u32>,
    /// See [`Capabilities::max_output_tokens`].
    pub max_output_tokens: Option<u32>,
    /// See [`Capabilities::tokenizer`].
    pub tokenizer: Option<String>,
    /// See [`Capabilities::temperature`].
    pub temperature: Option<bool>,
    /// See [`Capabilities::seed`].
    pub seed: Option<bool>,
    /// See [`Capabilities::structured_output`].
    pub structured_output: Option<StructuredOutput>,
    /// See [`Capabilities::reasoning_effort`].
    pub reasoning_effort: Option<bool>,
}

impl Capabilities {
    /// What the table of this crate says about a model, `provider/model`.
    ///
    /// ```
    /// use eog_llm::{Capabilities, StructuredOutput};
    /// let known = Capabilities::of("openai/gpt-4o-mini");
    /// assert!(known.temperature && known.structured_output == StructuredOutput::Strict);
    /// assert!(!Capabilities::of("openai/gpt-5-mini").temperature);
    /// ```
    pub fn of(model: &str) -> Self {
        let mut capabilities = Self::unknown();
        for rule in TABLE.iter().filter(|rule| rule.fits(model)) {
            capabilities = capabilities.with(&rule.changes);
            capabilities.prices = rule.prices.or(capabilities.prices);
        }
        capabilities
    }

    /// The capabilities with changes.
    #[must_use]
    pub fn with(mut self, changes: &CapabilityChanges) -> Self {
        fn set<T: Clone>(field: &mut T, change: Option<&T>) {
            if let Some(value) = change {
                field.clone_from(value);
            }
        }
        set(&mut self.context_tokens, changes.context_tokens.as_ref());
        set(&mut self.max_output_tokens, changes.max_output_tokens.as_ref());
        set(&mut self.tokenizer, changes.tokenizer.as_ref());
        set(&mut self.temperature, changes.temperature.as_ref());
        set(&mut self.seed, changes.seed.as_ref());
        set(&mut self.structured_output, changes.structured_output.as_ref());
        set(&mut self.reasoning_effort, changes.reasoning_effort.as_ref());
        self
    }

    /// What applies where no rule of the table says anything.
    fn unknown() -> Self {
        Self {
            context_tokens: 8192,
            max_output_tokens: 1024,
            tokenizer: String::new(),
            temperature: false,
            seed: false,
            structured_output: StructuredOutput::None,
            reasoning_effort: false,
            prices: None,
        }
    }
}

static TABLE: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    // A test reads the table, which is part of the program.
    toml::from_str::<Table>(include_str!("capabilities.toml")).map_or_else(|_| vec![], |it| it.rule)
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    models: String,
    #[serde(default)]
    prices: Option<Prices>,
    #[serde(flatten)]
    changes: CapabilityChanges,
}

impl Rule {
    fn fits(&self, model: &str) -> bool {
        match self.models.strip_suffix('*') {
            Some(prefix) => model.starts_with(prefix),
            None => model == self.models,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read_and_its_tokenizers_exist() {
        let table: Table = toml::from_str(include_str!("capabilities.toml")).expect("valid");
        assert!(table.rule.len() > 20);
        for rule in &table.rule {
            let tokenizer = rule.changes.tokenizer.as_deref().unwrap_or_default();
            let known = tokenizer.is_empty() || tiktoken::get_encoding(tokenizer).is_some();
            assert!(known, "{}: no encoding {tokenizer}", rule.models);
        }
    }

    #[test]
    fn later_rules_refine_earlier_ones() {
        let opus = Capabilities::of("anthropic/claude-opus-4-7");
        assert!(!opus.temperature && opus.structured_output == StructuredOutput::Strict);
        assert!(Capabilities::of("anthropic/claude-3-haiku").temperature);
        assert_eq!(Capabilities::of("unknown/nothing").structured_output, StructuredOutput::None);
        assert_eq!(Capabilities::of("ollama/qwen3").prices, Some(Prices::FREE));
    }

    #[test]
    fn configuration_has_the_last_word() {
        let changes = CapabilityChanges { seed: Some(false), ..CapabilityChanges::default() };
        let changed = Capabilities::of("openai/gpt-4o").with(&changes);
        assert!(!changed.seed && changed.temperature);
    }
}
