//! Asks a phase's question: a chain of models, each with one correction.

mod checked;

use std::sync::Arc;

use eog_core::contract::FailureKind;
use eog_core::{BudgetKind, Failure};

use crate::schema::{answer_form, checked_schema};
use crate::{
    ChatError, ChatErrorKind, ChatMessage, ChatModel, ChatRequest, Drawn, ModelInfo, Pack, Phase,
    PromptError, TokenCounter, TokenUsage,
};
use checked::{check, quoted};

/// Asks the questions of all phases: a pack of templates, and a chain of models.
///
/// The models are asked in turn until one gives a usable answer: it must be JSON, have the form of
/// the phase, and have no [problems](Phase::problems). A model whose answer is not usable is shown
/// the answer once, with everything that is wrong with it.
///
/// Keeps no state between questions and reads no clock: time-outs, retries, budgets and recording
/// are up to the models.
#[derive(Clone)]
pub struct Prompter {
    pack: Arc<Pack>,
    models: Vec<Arc<dyn ChatModel>>,
    limits: AskLimits,
}

/// Bounds of one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AskLimits {
    /// Maximum tokens of an answer, including reasoning. If the maximum of a model is lower, that
    /// applies.
    pub max_output_tokens: u32,
    /// Maximum tokens of a prompt, even if a model's window has room for more.
    pub max_prompt_tokens: u32,
}

impl Default for AskLimits {
    fn default() -> Self {
        Self { max_output_tokens: 8_192, max_prompt_tokens: 80_000 }
    }
}

/// A usable answer, and its usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked<T> {
    /// The answer.
    pub answer: T,
    /// The usage of all attempts, including those of models that failed.
    pub usage: TokenUsage,
    /// The model that answered, `provider/model`.
    pub model: String,
    /// Whether the model had to correct its first answer.
    pub corrected: bool,
}

impl Prompter {
    /// A prompter with these templates and these models, in order.
    pub fn new(pack: Arc<Pack>, models: Vec<Arc<dyn ChatModel>>) -> Self {
        Self { pack, models, limits: AskLimits::default() }
    }

    /// The same with other bounds.
    #[must_use]
    pub fn with_limits(self, limits: AskLimits) -> Self {
        Self { limits, ..self }
    }

    /// The templates.
    pub fn pack(&self) -> &Pack {
        &self.pack
    }

    /// The models, in the order they are asked.
    pub fn models(&self) -> &[Arc<dyn ChatModel>] {
        &self.models
    }

    /// The bounds.
    pub fn limits(&self) -> AskLimits {
        self.limits
    }

    /// The first request of a question, as the first model would get it. Makes no calls.
    ///
    /// # Errors
    /// [`PromptError`] when the templates do not fit the input, or the prompt does not fit the
    /// first model.
    pub fn prompt<P: Phase>(&self, input: &P::Input) -> Result<ChatRequest, PromptError> {
        let request = self.request::<P>(input)?;
        match self.models.first() {
            Some(model) => {
                let request = self.sized(model.as_ref(), &request);
                self.fits(model.as_ref(), &request)?;
                Ok(request)
            }
            None => Ok(request),
        }
    }

    /// How many tokens a prompt may have, so that the first model accepts it and can answer.
    pub fn room(&self) -> u64 {
        let first = self.models.first().map(|model| self.room_of(model.info()));
        first.unwrap_or(u64::from(self.limits.max_prompt_tokens))
    }

    /// How many tokens the first request of a question has, as the first model counts them.
    ///
    /// # Errors
    /// [`PromptError`] when the templates do not fit the input.
    pub fn tokens<P: Phase>(&self, input: &P::Input) -> Result<u64, PromptError> {
        let tokenizer = self.models.first().map_or("", |model| model.info().tokenizer.as_str());
        Ok(TokenCounter::new(tokenizer).request(&self.request::<P>(input)?))
    }

    /// Asks until a model gives a usable answer.
    ///
    /// # Errors
    /// A [`Failure`] that names the error of each model, with the usage of all attempts. It is
    /// transient if the errors of all models are. A used-up budget, and a recording without an
    /// answer, end the chain at once.
    pub async fn ask<P: Phase>(&self, input: &P::Input) -> Result<Asked<P::Answer>, Failure> {
        self.ask_drawn::<P>(input, None).await
    }

    /// The same for one of several answers to this question.
    ///
    /// # Errors
    /// As for [`Prompter::ask`].
    pub async fn ask_drawn<P: Phase>(
        &self,
        input: &P::Input,
        drawn: Option<Drawn>,
    ) -> Result<Asked<P::Answer>, Failure> {
        let request =
            self.request::<P>(input).map_err(|error| Failure::policy(error.to_string()))?;
        let request = ChatRequest { drawn, ..request };
        let mut chain = Chain::default();
        for model in &self.models {
            match self.ask_one::<P>(model.as_ref(), input, &request, &mut chain.usage).await {
                Ok((answer, model, corrected)) => {
                    return Ok(Asked { answer, usage: chain.usage, model, corrected });
                }
                Err(stop) => {
                    if chain.note(model.info().name.as_str(), stop) {
                        break;
                    }
                }
            }
        }
        Err(chain.failure(P::NAME))
    }

    /// Asks one model, with one correction. Returns the answer, the model that answered, and whether
    /// it was corrected.
    async fn ask_one<P: Phase>(
        &self,
        model: &dyn ChatModel,
        input: &P::Input,
        request: &ChatRequest,
        usage: &mut TokenUsage,
    ) -> Result<(P::Answer, String, bool), Stop> {
        let mut request = self.sized(model, request);
        self.fits(model, &request).map_err(|error| Stop::Invalid(error.to_string()))?;
        let schema = checked_schema::<P::Answer>();
        for corrected in [false, true] {
            let response = match model.chat(&request).await {
                Ok(response) => response,
                Err(error) => {
                    *usage += error.usage;
                    return Err(Stop::Error(error));
                }
            };
            *usage += response.usage;
            let last = corrected || !P::CORRECTS;
            let problems = match check::<P>(&schema, input, &response, last) {
                Ok(answer) => return Ok((answer, response.model, corrected)),
                Err(problems) => problems,
            };
            if !P::CORRECTS {
                return Err(Stop::Invalid(problems.join("; ")));
            }
            if corrected {
                let what = problems.join("; ");
                return Err(Stop::Invalid(format!("still invalid after a correction: {what}")));
            }
            let correction = self.pack.correction(&problems);
            let correction = correction.map_err(|error| Stop::Invalid(error.to_string()))?;
            request.messages.push(ChatMessage::assistant(quoted(&response.text)));
            request.messages.push(correction);
            if let Err(error) = self.fits(model, &request) {
                let what = problems.join("; ");
                return Err(Stop::Invalid(format!("invalid: {what}; no correction: {error}")));
            }
        }
        Err(Stop::Invalid("not asked".to_owned()))
    }

    fn request<P: Phase>(&self, input: &P::Input) -> Result<ChatRequest, PromptError> {
        Ok(ChatRequest {
            phase: P::NAME.to_owned(),
            messages: self.pack.messages::<P>(input)?,
            answer: Some(answer_form::<P::Answer>(P::NAME)),
            max_output_tokens: self.limits.max_output_tokens,
            drawn: None,
        })
    }

    /// The request with the maximum output of a model.
    fn sized(&self, model: &dyn ChatModel, request: &ChatRequest) -> ChatRequest {
        let most = self.limits.max_output_tokens.min(model.info().max_output_tokens);
        ChatRequest { max_output_tokens: most, ..request.clone() }
    }

    fn room_of(&self, info: &ModelInfo) -> u64 {
        let output = self.limits.max_output_tokens.min(info.max_output_tokens);
        let window = info.context_tokens.saturating_sub(output);
        u64::from(window.min(self.limits.max_prompt_tokens))
    }

    fn fits(&self, model: &dyn ChatModel, request: &ChatRequest) -> Result<(), PromptError> {
        let info = model.info();
        let limit = self.room_of(info);
        let tokens = TokenCounter::of(info).request(request);
        if tokens <= limit {
            return Ok(());
        }
        let (phase, model) = (request.phase.clone(), info.name.clone());
        Err(PromptError::TooLong { phase, model, tokens, limit })
    }
}

impl std::fmt::Debug for Prompter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let models: Vec<&str> =
            self.models.iter().map(|model| model.info().name.as_str()).collect();
        f.debug_struct("Prompter")
            .field("pack", &self.pack.name())
            .field("models", &models)
            .field("limits", &self.limits)
            .finish()
    }
}

/// Why one model gave no usable answer.
enum Stop {
    Error(ChatError),
    Invalid(String),
}

/// What the models of a chain did so far.
#[derive(Default)]
struct Chain {
    usage: TokenUsage,
    notes: Vec<String>,
    /// The longest delay that the errors so far ask for.
    retry_after: Option<std::time::Duration>,
    lasting: bool,
    /// How many models did not answer in time.
    timed_out: usize,
    /// The budget that ended the chain, if one did.
    exhausted: Option<BudgetKind>,
}

impl Chain {
    /// Notes what a model did. Returns whether the chain ends here.
    fn note(&mut self, model: &str, stop: Stop) -> bool {
        let (text, last) = match stop {
            Stop::Error(error) => {
                self.lasting |= !error.transient;
                self.timed_out += usize::from(error.kind == ChatErrorKind::TimedOut);
                self.retry_after = self.retry_after.max(error.retry_after);
                self.exhausted = self.exhausted.or(error.kind.exhausted());
                let ends = matches!(
                    error.kind,
                    ChatErrorKind::OverBudget(_)
                        | ChatErrorKind::Uncounted
                        | ChatErrorKind::NotRecorded
                );
                (error.message, ends)
            }
            Stop::Invalid(reason) => {
                self.lasting = true;
                (reason, false)
            }
        };
        self.notes.push(format!("{model}: {text}"));
        last
    }

    fn failure(self, phase: &str) -> Failure {
        let what = match self.notes.is_empty() {
            true => "no model is configured".to_owned(),
            false => self.notes.join(" | "),
        };
        let all_timed_out = self.timed_out > 0 && self.timed_out == self.notes.len();
        let kind =
            if all_timed_out { FailureKind::PolicyTimedOut } else { FailureKind::PolicyFailed };
        let failure = Failure::new(kind, format!("{phase}: {what}"));
        let transient = !self.lasting && !self.notes.is_empty();
        let retry_after = self.retry_after.filter(|_| transient);
        let exhausted = self.exhausted;
        Failure { usage: self.usage.into(), transient, exhausted, retry_after, ..failure }
    }
}

#[cfg(test)]
mod tests;
