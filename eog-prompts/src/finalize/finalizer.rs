//! The finalizer over a model.

use crate::ask::Prompter;
use crate::finalize::material::Material;
use crate::finalize::narrative::{Author, Narrative};
use crate::finalize::{check, rules};
use crate::phases::{Finalize, FinalizeInput};
use crate::{ChatRequest, PromptError, TokenUsage, words};

/// Most findings that one prompt shows.
const MAX_EVIDENCE: usize = 200;
/// With fewer, a prompt is not worth its tokens.
const MIN_EVIDENCE: usize = 10;
/// Longest failure that a narrative tells, in characters.
const MAX_FAILURE: usize = 600;

/// Has a model tell the result, and checks every statement against the ledger.
///
/// The model has no free hand. Entities outside the graph, evidence that does not exist, steps that
/// no claim makes and times that nobody measured are refused. Contributing factors are those of the
/// frontier, unless the model gives a reason, which is recorded. A contributing factor that cannot
/// say what changed, when, and how that explains the alerts is demoted. Where no model gives a usable
/// answer, [`narrate`](crate::narrate) tells the result, and says why.
///
/// ```
/// use std::sync::Arc;
/// use eog_core::{Case, Config, Controller, Topology, Window};
/// use eog_prompts::{Author, Finalizer, Material, MockModel, Pack, Prompter};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let model = Arc::new(MockModel::new("mock/silent"));
/// let finalizer = Finalizer::new(Prompter::new(Arc::new(Pack::sre()), vec![model]));
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// let material = Material::of(&Controller::new(Config::default(), case));
/// let told = finalizer.finalize(&material).await;
/// assert!(matches!(told.narrative.author, Author::RulesAfterFailure { .. }));
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
    /// Who told it, `provider/model`; none if rules did.
    pub model: Option<String>,
}

impl Finalizer {
    /// Asks these models, with these templates.
    pub fn new(prompter: Prompter) -> Self {
        Self { prompter }
    }

    /// The request that would be sent first. Calls nobody.
    ///
    /// # Errors
    /// [`PromptError`] when the templates do not fit, or not even the least evidence does.
    pub fn prompt(&self, material: &Material) -> Result<ChatRequest, PromptError> {
        self.fitting(material).map(|(request, _)| request)
    }

    /// Tells the result of an investigation.
    pub async fn finalize(&self, material: &Material) -> Finalized {
        let input = match self.fitting(material) {
            Ok((_, input)) => input,
            Err(error) => return by_rules(material, &error.to_string(), TokenUsage::default()),
        };
        match self.prompter.ask::<Finalize>(&input).await {
            Ok(asked) => Finalized {
                narrative: check::take(material, &input, &asked.answer, &asked.model),
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
                by_rules(material, &failure.message, usage)
            }
        }
    }

    /// The most that the first model can be shown.
    fn fitting(&self, material: &Material) -> Result<(ChatRequest, FinalizeInput), PromptError> {
        let mut most = MAX_EVIDENCE;
        loop {
            let input = FinalizeInput::of(material, most);
            match self.prompter.prompt::<Finalize>(&input) {
                Ok(request) => return Ok((request, input)),
                Err(PromptError::TooLong { .. }) if most > MIN_EVIDENCE => most /= 2,
                Err(error) => return Err(error),
            }
        }
    }
}

fn by_rules(material: &Material, failure: &str, usage: TokenUsage) -> Finalized {
    let failure = words::clean_up_to(failure, MAX_FAILURE);
    let author = Author::RulesAfterFailure { failure };
    let narrative = Narrative { author, ..rules::narrate(material) };
    Finalized { narrative, usage, model: None }
}
