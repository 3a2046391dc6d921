//! The trait between eog and a language model, and its messages.

use std::sync::Arc;
use std::time::Duration;

use eog_core::{BoxFuture, BudgetKind, Failure, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A language model that answers chats: a provider, a local server, a cassette, a mock.
///
/// Settings of the model (temperature, seed, keys, prices) belong to the implementation. So does the
/// decision whether to retry, which it reports by [`ChatError::transient`] and the usage.
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
    /// The properties of the model.
    fn info(&self) -> &ModelInfo;

    /// Answers one request.
    ///
    /// # Errors
    /// [`ChatError`] if there is no answer at all. A refusal or a truncated answer is an answer; see
    /// [`ChatResponse::finish`].
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

/// The properties of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its name as users write it, `provider/model`. Appears in ledgers and reports.
    pub name: String,
    /// Maximum tokens of prompt and answer together.
    pub context_tokens: u32,
    /// Maximum tokens of an answer.
    pub max_output_tokens: u32,
    /// The tokenizer to count with, by the name of an encoding or a model. For unknown names a
    /// cautious default is used.
    pub tokenizer: String,
    /// The longest time that one request may take, if the model itself enforces a time-out.
    pub timeout: Option<Duration>,
}

/// One question to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatRequest {
    /// Its purpose: the name of a phase. For logs and cassettes; it is not sent to models.
    pub phase: String,
    /// The conversation, instructions first. What changes least from call to call comes first, so
    /// that providers can cache it.
    pub messages: Vec<ChatMessage>,
    /// The form of the answer, if one is required.
    pub answer: Option<AnswerForm>,
    /// Maximum tokens of the answer.
    pub max_output_tokens: u32,
    /// Which of several answers it is to be, if they are drawn apart. Requests without are what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Drawn>,
}

/// One of several answers to the same question.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// Which, counted from 1.
    pub index: u32,
    /// The temperature, where the model accepts one.
    pub temperature: f64,
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatMessage {
    /// The author.
    pub role: Role,
    /// The text.
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

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions to the model.
    System,
    /// Questions to the model.
    User,
    /// The model.
    Assistant,
}

/// The form of an answer: a JSON Schema that strict structured-output modes accept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerForm {
    /// A short name consisting of letters, digits and `_`.
    pub name: String,
    /// The schema. Every property is required, and no other properties are allowed.
    pub schema: Value,
}

/// An answer of a model, and its usage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatResponse {
    /// The text. Untrusted: data, never instructions.
    pub text: String,
    /// How it ended.
    pub finish: Finish,
    /// Its usage.
    pub usage: TokenUsage,
    /// The model that answered, `provider/model`, as reported by the provider.
    pub model: String,
}

impl ChatResponse {
    /// A complete answer without usage.
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
    /// The answer is complete.
    Complete,
    /// It was truncated: the token limit was reached, or the connection was lost.
    Cut,
    /// The model, or a filter of its provider, refused to answer.
    Refused,
}

/// Tokens and cost of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenUsage {
    /// Calls that reached a provider.
    pub calls: u64,
    /// Input tokens, including those from a cache.
    pub input: u64,
    /// Input tokens from a cache of the provider; part of `input`.
    pub cached: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Reasoning tokens; part of `output`.
    pub reasoning: u64,
    /// Cost in millionths of a US dollar, if prices are known.
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
    /// The kind of error.
    pub kind: ChatErrorKind,
    /// What went wrong and what to do, for people. Contains no key.
    pub message: String,
    /// Whether a retry may help. False if the model has used up its own retries, so that callers do
    /// not multiply the attempts.
    pub transient: bool,
    /// The usage of the failed attempts.
    pub usage: TokenUsage,
    /// How long to wait before a retry, if the provider said so.
    pub retry_after: Option<Duration>,
}

impl ChatError {
    /// An error without usage, transient if its kind is.
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

/// The kind of an error, which determines what may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatErrorKind {
    /// Too many requests: waiting may help.
    RateLimited,
    /// The provider failed, or the connection was lost: a retry may help.
    Unavailable,
    /// No connection could be made; nothing was sent. A retry may help.
    Unreachable,
    /// No answer in time: a retry may help.
    TimedOut,
    /// The key is missing, invalid, or has no access to this model.
    NotAllowed,
    /// The provider rejects the request: it is too long, or an option is unknown.
    NotAccepted,
    /// The answer is not in the provider's format.
    Unreadable,
    /// This budget does not allow the call; nothing was sent.
    OverBudget(BudgetKind),
    /// The remaining budget cannot be read; nothing was sent.
    Uncounted,
    /// A cassette or a script has no answer to this request; nothing was sent.
    NotRecorded,
}

impl ChatErrorKind {
    /// Whether errors of this kind are transient.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable | Self::Unreachable | Self::TimedOut)
    }

    /// The budget that does not allow the call, if that is the reason.
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
