//! The one trait between eog and a language model, and what goes over it.

use std::sync::Arc;
use std::time::Duration;

use eog_core::{BoxFuture, BudgetKind, Failure, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A language model that answers chats: a provider, a local server, a cassette, a mock.
///
/// Settings of the model (temperature, seed, keys, prices) belong to the implementation. It makes
/// one attempt or several, as it likes, and says so in the usage.
///
/// ```
/// use eog_core::BoxFuture;
/// use eog_prompts::{ChatError, ChatModel, ChatRequest, ChatResponse, ModelInfo};
/// struct Yes(ModelInfo);
/// impl ChatModel for Yes {
///     fn info(&self) -> &ModelInfo {
///         &self.0
///     }
///     fn chat<'a>(
///         &'a self,
///         _request: &'a ChatRequest,
///     ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
///         Box::pin(async { Ok(ChatResponse::complete("yes", "yes")) })
///     }
/// }
/// ```
pub trait ChatModel: Send + Sync {
    /// What must be known of the model before it is asked.
    fn info(&self) -> &ModelInfo;

    /// Answers one request.
    ///
    /// # Errors
    /// [`ChatError`] when there is no answer at all. A refusal or a cut answer is an answer:
    /// [`ChatResponse::finish`] tells.
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>>;
}

macro_rules! forward_to_inner {
    ($($outer:ty),*) => {$(
        impl<T: ChatModel + ?Sized> ChatModel for $outer {
            fn info(&self) -> &ModelInfo {
                (**self).info()
            }

            fn chat<'a>(
                &'a self,
                request: &'a ChatRequest,
            ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
                (**self).chat(request)
            }
        }
    )*};
}

forward_to_inner!(&T, Box<T>, Arc<T>);

/// What must be known of a model before it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its name as users write it, `provider/model`. Goes into ledgers and reports.
    pub name: String,
    /// How many tokens it takes, prompt and answer together.
    pub context_tokens: u32,
    /// How many tokens it may write at most, in one answer.
    pub max_output_tokens: u32,
    /// The tokenizer to count with, by the name of an encoding or a model; unknown names count by
    /// a cautious default.
    pub tokenizer: String,
    /// The longest time that one request may take, if the model enforces it by itself.
    pub timeout: Option<Duration>,
}

/// One question to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatRequest {
    /// What it is for: the name of a phase. For logs and cassettes; no model sees it.
    pub phase: String,
    /// The conversation, instructions first. What changes least from call to call comes first, so
    /// that providers can reuse what they have read.
    pub messages: Vec<ChatMessage>,
    /// The form of the answer, where one is asked for.
    pub answer: Option<AnswerForm>,
    /// At most this many tokens are wanted.
    pub max_output_tokens: u32,
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub text: String,
}

impl ChatMessage {
    /// Instructions.
    pub fn system(text: impl Into<String>) -> Self {
        Self { role: Role::System, text: text.into() }
    }

    /// A question.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, text: text.into() }
    }

    /// An earlier answer of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, text: text.into() }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Whoever instructs the model.
    System,
    /// Whoever asks.
    User,
    /// The model.
    Assistant,
}

/// The form of an answer: a JSON Schema that strict structured-output modes accept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerForm {
    /// A short name of letters, digits and `_`.
    pub name: String,
    /// The schema. Every property is required, and no others are allowed.
    pub schema: Value,
}

/// What a model wrote, and what that took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatResponse {
    /// The text. Untrusted: data, never instructions.
    pub text: String,
    /// How it ended.
    pub finish: Finish,
    /// What it took.
    pub usage: TokenUsage,
    /// Who answered, `provider/model`, as the provider says it.
    pub model: String,
}

impl ChatResponse {
    /// A whole answer that cost nothing.
    pub fn complete(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            finish: Finish::Complete,
            usage: TokenUsage::default(),
            model: model.into(),
        }
    }
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Finish {
    /// The model had said everything.
    Complete,
    /// It had no more tokens, or the connection ended in the middle.
    Cut,
    /// It, or a filter of its provider, refused to answer.
    Refused,
}

/// What calls took, in tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenUsage {
    /// Calls that a provider answered.
    pub calls: u64,
    /// Tokens read, those from a cache included.
    pub input: u64,
    /// Tokens read from a cache of the provider; part of `input`.
    pub cached: u64,
    /// Tokens written, those of the reasoning included.
    pub output: u64,
    /// Tokens written while reasoning; part of `output`.
    pub reasoning: u64,
    /// Cost in millionths of a US dollar, where prices are known.
    pub cost_micro_usd: u64,
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.cost_micro_usd = self.cost_micro_usd.saturating_add(other.cost_micro_usd);
    }
}

impl From<TokenUsage> for Usage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            model_calls: usage.calls,
            tokens_in: usage.input,
            tokens_out: usage.output,
            cost_micro_usd: usage.cost_micro_usd,
        }
    }
}

/// Why a model gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{model}: {message}")]
pub struct ChatError {
    /// Which model, `provider/model`.
    pub model: String,
    /// What kind of error it is.
    pub kind: ChatErrorKind,
    /// What went wrong and what to do, for people. Holds no key.
    pub message: String,
    /// Whether asking the same model again may help. Not after a model has tried again by itself
    /// as often as it may, so that nobody above it multiplies the attempts.
    pub transient: bool,
    /// What the failed attempts cost all the same.
    pub usage: TokenUsage,
    /// How long to wait before asking again, if the provider said so.
    pub retry_after: Option<Duration>,
}

impl ChatError {
    /// An error that cost nothing, transient if its kind is.
    pub fn new(model: impl Into<String>, kind: ChatErrorKind, message: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            kind,
            message: message.into(),
            transient: kind.is_transient(),
            usage: TokenUsage::default(),
            retry_after: None,
        }
    }
}

/// What kind of error it is, and so what may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatErrorKind {
    /// Too many requests: waiting helps.
    RateLimited,
    /// The provider failed, or the connection broke: asking again may help.
    Unavailable,
    /// No connection could be made; nothing was sent. Asking again may help.
    Unreachable,
    /// No answer in time: asking again may help.
    TimedOut,
    /// Key missing, wrong, or not allowed to use this model.
    NotAllowed,
    /// The provider does not take the request: it is too long, or an option is unknown.
    NotAccepted,
    /// The answer cannot be read as the provider's format.
    Unreadable,
    /// A budget, this one, does not allow the call; nothing was sent.
    OverBudget(BudgetKind),
    /// A cassette, or a script, has no answer to this request; nothing was sent.
    NotRecorded,
}

impl ChatErrorKind {
    /// Whether an error of this kind may pass.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable | Self::Unreachable | Self::TimedOut)
    }

    /// The budget that does not allow the call, if that is why.
    pub fn exhausted(self) -> Option<BudgetKind> {
        match self {
            Self::OverBudget(budget) => Some(budget),
            _ => None,
        }
    }
}

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        let failure = Failure::policy(error.to_string());
        let (usage, retry_after) = (error.usage.into(), error.retry_after);
        let (transient, exhausted) = (error.transient, error.kind.exhausted());
        Failure { usage, retry_after, exhausted, transient, ..failure }
    }
}
