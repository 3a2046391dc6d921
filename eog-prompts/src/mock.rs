//! A model that answers from a script, for unit tests.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use eog_core::BoxFuture;
use serde::Serialize;

use crate::{
    ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, Finish, ModelInfo, TokenUsage,
};

/// A model that answers from a script and keeps all requests.
///
/// Rules are tried in the order in which they were added; the first that matches answers. A rule of
/// [`then`](Self::then) answers once, all others any number of times. A request that matches no
/// rule is an error of kind [`ChatErrorKind::NotRecorded`].
///
/// ```
/// use eog_prompts::{ChatErrorKind, ChatMessage, ChatModel, ChatRequest, MockModel, Reply};
/// let model = MockModel::new("mock/small")
///     .when_text("weather", "sunny")
///     .then(Reply::refused())
///     .then("second");
/// let ask = |text: &str| {
///     let request = ChatRequest {
///         phase: "explore".into(),
///         messages: vec![ChatMessage::user(text)],
///         answer: None,
///         max_output_tokens: 100,
///         drawn: None,
///     };
///     model.answer(&request)
/// };
/// assert_eq!(ask("how is the weather?")?.text, "sunny");
/// assert_eq!(ask("and the rest?")?.finish, eog_prompts::Finish::Refused);
/// assert_eq!(ask("and the rest?")?.text, "second");
/// assert_eq!(ask("and the rest?").unwrap_err().kind, ChatErrorKind::NotRecorded);
/// assert_eq!(model.requests().len(), 4);
/// # Ok::<(), eog_prompts::ChatError>(())
/// ```
pub struct MockModel {
    info: ModelInfo,
    rules: Vec<Rule>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    requests: Vec<ChatRequest>,
    /// Indices of the one-time rules that have answered.
    used: BTreeSet<usize>,
}

struct Rule {
    answer: Box<AnswerFn>,
    once: bool,
}

type AnswerFn = dyn Fn(&ChatRequest) -> Option<Reply> + Send + Sync;

impl MockModel {
    /// A model with this name, no script, and a window of 128,000 tokens.
    pub fn new(name: impl Into<String>) -> Self {
        Self::with_info(ModelInfo {
            name: name.into(),
            context_tokens: 128_000,
            max_output_tokens: 8_192,
            tokenizer: "o200k_base".to_owned(),
            timeout: None,
        })
    }

    /// A model with these properties and no script.
    pub fn with_info(info: ModelInfo) -> Self {
        Self { info, rules: Vec::new(), seen: Mutex::default() }
    }

    /// A recording: a model that answers exactly these requests, each any number of times.
    pub fn recorded(
        name: impl Into<String>,
        recording: impl IntoIterator<Item = (ChatRequest, ChatResponse)>,
    ) -> Self {
        recording.into_iter().fold(Self::new(name), |model, (request, response)| {
            model.when(move |asked| *asked == request, response)
        })
    }

    /// Answers the next request that no earlier rule answers, once.
    #[must_use]
    pub fn then(self, reply: impl Into<Reply>) -> Self {
        let reply = reply.into();
        self.rule(move |_| Some(reply.clone()), true)
    }

    /// Answers every request that matches.
    #[must_use]
    pub fn when(
        self,
        matches: impl Fn(&ChatRequest) -> bool + Send + Sync + 'static,
        reply: impl Into<Reply>,
    ) -> Self {
        let reply = reply.into();
        self.rule(move |request| matches(request).then(|| reply.clone()), false)
    }

    /// Answers every request of a phase.
    #[must_use]
    pub fn when_phase(self, phase: &str, reply: impl Into<Reply>) -> Self {
        let phase = phase.to_owned();
        self.when(move |request| request.phase == phase, reply)
    }

    /// Answers every request that has this text in a user message.
    #[must_use]
    pub fn when_text(self, text: &str, reply: impl Into<Reply>) -> Self {
        let text = text.to_owned();
        self.when(move |request| user_text(request).contains(&text), reply)
    }

    /// Answers every request for which the function has a reply.
    #[must_use]
    pub fn answering(
        self,
        answer: impl Fn(&ChatRequest) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        self.rule(answer, false)
    }

    fn rule(
        mut self,
        answer: impl Fn(&ChatRequest) -> Option<Reply> + Send + Sync + 'static,
        once: bool,
    ) -> Self {
        self.rules.push(Rule { answer: Box::new(answer), once });
        self
    }

    /// Every request so far, in order, including those without an answer.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.seen().requests.clone()
    }

    /// Answers immediately, without a future.
    ///
    /// # Errors
    /// The error in the script, or an error if the script has no answer.
    pub fn answer(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        self.seen().requests.push(request.clone());
        for (index, rule) in self.rules.iter().enumerate() {
            // Called without the lock: the function may ask for the requests so far.
            let Some(Reply(reply)) = (rule.answer)(request) else { continue };
            if rule.once && !self.seen().used.insert(index) {
                continue;
            }
            let model = &self.info.name;
            return match reply {
                Ok(response) => Ok(ChatResponse { model: model.clone(), ..response }),
                Err(error) => Err(ChatError { model: model.clone(), ..error }),
            };
        }
        let beginning: String = user_text(request).chars().take(80).collect();
        let message = format!(
            "the script has no answer to request {} (phase {}, {beginning:?}); add one with \
             `then`, `when…` or `answering`",
            self.seen().requests.len(),
            request.phase,
        );
        Err(ChatError::new(&self.info.name, ChatErrorKind::NotRecorded, message))
    }

    /// Ignores poisoning: a panic in one test thread must not affect another.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatModel for MockModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(std::future::ready(self.answer(request)))
    }
}

fn user_text(request: &ChatRequest) -> String {
    let texts = request.messages.iter().filter(|message| message.role == crate::Role::User);
    texts.map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// A reply of a [`MockModel`]. Text converts into a complete answer of one call.
#[derive(Clone, Debug)]
pub struct Reply(Result<ChatResponse, ChatError>);

impl Reply {
    /// A complete answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self::ending(text, Finish::Complete)
    }

    /// A complete answer with this value as JSON.
    ///
    /// # Errors
    /// If the value cannot be written as JSON.
    pub fn json<T: Serialize>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self::text)
    }

    /// A truncated answer.
    pub fn cut(text: impl Into<String>) -> Self {
        Self::ending(text, Finish::Cut)
    }

    /// A refusal.
    pub fn refused() -> Self {
        Self::ending("", Finish::Refused)
    }

    /// An error instead of an answer.
    pub fn error(kind: ChatErrorKind, message: impl Into<String>) -> Self {
        Self(Err(ChatError::new("", kind, message)))
    }

    /// The same reply with this usage.
    #[must_use]
    pub fn using(mut self, usage: TokenUsage) -> Self {
        match &mut self.0 {
            Ok(response) => response.usage = usage,
            Err(error) => error.usage = usage,
        }
        self
    }

    fn ending(text: impl Into<String>, finish: Finish) -> Self {
        let usage = TokenUsage { calls: 1, ..TokenUsage::default() };
        Self(Ok(ChatResponse { text: text.into(), finish, usage, model: String::new() }))
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<serde_json::Value> for Reply {
    fn from(value: serde_json::Value) -> Self {
        Self::text(value.to_string())
    }
}

impl From<ChatResponse> for Reply {
    fn from(response: ChatResponse) -> Self {
        Self(Ok(response))
    }
}

impl From<ChatError> for Reply {
    fn from(error: ChatError) -> Self {
        Self(Err(error))
    }
}
