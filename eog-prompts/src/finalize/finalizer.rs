//! The finalizer over a model.

use eog_core::Diagnosis;
use eog_report::clean::clean_up_to;
use eog_report::{Author, Narrative, narrate};

use super::check;
use crate::ask::Prompter;
use crate::phases::{Finalize, FinalizeInput};
use crate::{ChatRequest, PromptError, TokenUsage};

/// Most findings that one prompt shows.
const MAX_EVIDENCE: usize = 200;
/// With fewer, a prompt is not worth its tokens.
const MIN_EVIDENCE: usize = 10;
/// Longest failure that a narrative quotes, in characters.
const MAX_FAILURE: usize = 600;

/// Has a model write the result, and checks every statement against the ledger.
///
/// The model has no free hand. Entities outside the graph, evidence that does not exist, steps that
/// no claim makes and times of no evidence are refused. Contributing factors are those of the
/// frontier, unless the model gives a reason, which is recorded. A contributing factor that cannot
/// say what changed, when, and how that explains the alerts is demoted. Where no model gives a usable
/// answer, [`narrate`] writes the result, and says why.
///
/// ```
/// use std::sync::Arc;
/// use eog_core::{Case, Config, Controller, Topology, Window};
/// use eog_prompts::{Finalizer, MockModel, Pack, Prompter};
/// use eog_report::Author;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let model = Arc::new(MockModel::new("mock/silent"));
/// let finalizer = Finalizer::new(Prompter::new(Arc::new(Pack::sre()), vec![model]));
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// let diagnosis = Controller::new(Config::default(), case).diagnosis();
/// let finalized = finalizer.finalize(&diagnosis).await;
/// assert!(matches!(finalized.narrative.author, Author::RulesAfterFailure { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Finalizer {
    prompter: Prompter,
}

/// A narrative, and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Finalized {
    /// The narrative. There always is one.
    pub narrative: Narrative,
    /// What all attempts took.
    pub usage: TokenUsage,
    /// The author, `provider/model`; none if rules wrote it.
    pub model: Option<String>,
}

impl Finalizer {
    /// Asks these models, with these templates.
    pub fn new(prompter: Prompter) -> Self {
        Self { prompter }
    }

    /// The request that would be sent first. Calls no model.
    ///
    /// # Errors
    /// [`PromptError`] when the templates do not fit, or not even the least evidence does.
    pub fn prompt(&self, diagnosis: &Diagnosis) -> Result<ChatRequest, PromptError> {
        self.fitting(diagnosis).map(|(request, _)| request)
    }

    /// Writes the result of an investigation.
    pub async fn finalize(&self, diagnosis: &Diagnosis) -> Finalized {
        let input = match self.fitting(diagnosis) {
            Ok((_, input)) => input,
            Err(error) => return by_rules(diagnosis, &error.to_string(), TokenUsage::default()),
        };
        match self.prompter.ask::<Finalize>(&input).await {
            Ok(asked) => Finalized {
                narrative: check::take(diagnosis, &input, &asked.answer, &asked.model),
                usage: asked.usage,
                model: Some(asked.model),
            },
            Err(failure) => {
                let usage = TokenUsage {
                    calls: failure.usage.model_calls,
                    input: failure.usage.tokens_in,
                    output: failure.usage.tokens_out,
                    cost_micro_usd: failure.usage.cost_micro_usd,
                    ..TokenUsage::default()
                };
                by_rules(diagnosis, &failure.message, usage)
            }
        }
    }

    /// The most that the first model can be shown.
    fn fitting(&self, diagnosis: &Diagnosis) -> Result<(ChatRequest, FinalizeInput), PromptError> {
        let mut most = MAX_EVIDENCE;
        loop {
            let input = FinalizeInput::of(diagnosis, most);
            match self.prompter.prompt::<Finalize>(&input) {
                Ok(request) => return Ok((request, input)),
                Err(PromptError::TooLong { .. }) if most > MIN_EVIDENCE => most /= 2,
                Err(error) => return Err(error),
            }
        }
    }
}

fn by_rules(diagnosis: &Diagnosis, failure: &str, usage: TokenUsage) -> Finalized {
    let failure = clean_up_to(failure, MAX_FAILURE);
    let author = Author::RulesAfterFailure { failure };
    let narrative = Narrative { author, ..narrate(diagnosis) };
    Finalized { narrative, usage, model: None }
}
