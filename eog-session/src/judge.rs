//! The policy: the built-in rules, a program, or a language model, which may also choose where to start
//! and write the result.
//!
//! [`Chosen`] is what options, variables and `eog.toml` say. Programs that embed eog may bring
//! [`Policies`] of their own.

mod chosen;
mod error;
mod masked;
#[cfg(feature = "models")]
mod models;
#[cfg(not(feature = "models"))]
#[path = "judge/no_models.rs"]
mod models;
mod settings;
#[cfg(feature = "models")]
mod traced;
#[cfg(feature = "models")]
mod watch;

use std::sync::Arc;

use eog::{AbductivePolicy, BoxFuture, BudgetKind, CallRecorder, Case, Limits, Usage, Window};
use eog_evidence::{EvidencePolicy, Incident, Weights};
use eog_report::Narrative;
use eog_search::tools::Skill;
use eog_search::{Roles, Toolset};

use crate::controllers::AnyFinished;
use crate::listener::Listener;

pub use chosen::{Chosen, no_program, read_weights, split_prompts, variables};
pub use error::{IdleOptions, JudgeError, OpeningError};
#[cfg(feature = "models")]
pub use models::{Unarmed, one_model, pack};
pub use settings::{By, Options, PolicyChoice, Settings, parse_policy};

/// The policy of a session: makes one [`Judge`] for each run.
///
/// ```
/// use eog::{CallRecorder, Usage};
/// use eog_session::judge::{Evidence, ForRun, Judge, Policies};
/// let recorder = CallRecorder::in_memory();
/// let policies: &dyn Policies = &Evidence;
/// let run = ForRun::new(&recorder, Usage::default());
/// let judge: Box<dyn Judge> = policies.judge(run)?;
/// assert!(policies.name().starts_with("evidence (weights "));
/// # let _ = judge;
/// # Ok::<(), eog_session::judge::JudgeError>(())
/// ```
pub trait Policies: Send + Sync {
    /// What ledgers call it. Resuming a ledger requires the same name.
    fn name(&self) -> String;

    /// What decides its answers besides the packet, for a memory of decisions. The name unless
    /// implemented.
    ///
    /// # Errors
    /// Why that cannot be said, such as a program that cannot be read.
    fn identity(&self, case: &Case) -> Result<String, JudgeError> {
        let _ = case;
        Ok(self.name())
    }

    /// The judge of one run.
    ///
    /// # Errors
    /// Why there is none, such as a model that cannot be reached.
    fn judge(&self, run: ForRun<'_>) -> Result<Box<dyn Judge>, JudgeError>;
}

/// What a judge is made for.
#[derive(Clone)]
#[non_exhaustive]
pub struct ForRun<'a> {
    /// Stores the answers of models before they are used, so that a resumed run asks none again.
    pub recorder: &'a CallRecorder,
    /// What earlier runs of the investigation have spent.
    pub spent_before: Usage,
    /// Receives what is asked.
    pub listener: Arc<dyn Listener>,
}

impl<'a> ForRun<'a> {
    /// For a run without a listener.
    pub fn new(recorder: &'a CallRecorder, spent_before: Usage) -> Self {
        Self { recorder, spent_before, listener: Arc::new(()) }
    }

    /// The same, with this listener.
    #[must_use]
    pub fn with_listener(self, listener: Arc<dyn Listener>) -> Self {
        Self { listener, ..self }
    }
}

/// The policy of one run: may choose where to start, judges, and may write the result.
pub trait Judge: Send + Sync {
    /// Chooses the window, unless one is given, and where to start. Nothing, as unless implemented,
    /// where the rules choose.
    ///
    /// Dropped when the run is cancelled or its time is up. It is asked anew when the run is
    /// resumed; answers that the recorder of the run holds are not lost. An error says why nothing can
    /// be begun.
    fn open<'a>(
        &'a self,
        incident: &'a Incident,
        window: Option<Window>,
    ) -> Option<BoxFuture<'a, Result<Case, OpeningError>>> {
        let _ = (incident, window);
        None
    }

    /// Whether packets are to show what stands out in the incident as a whole ([`Case::case_file`]). Not unless implemented.
    fn reads_case_file(&self) -> bool {
        false
    }

    /// Whether it is asked about an entity again only where there is new evidence: each question costs, and a belief of a
    /// neighbour alone changes no answer. Not unless implemented.
    fn asks_for_evidence(&self) -> bool {
        false
    }

    /// How many queries about one entity are answered. None unless implemented.
    fn queries(&self) -> u32 {
        0
    }

    /// The policy for a case.
    fn policy(&self, case: &Case) -> Box<dyn AbductivePolicy>;

    /// Plays the roles of a tree search beside that of the policy. Nothing, as unless implemented,
    /// where the rules do.
    fn roles(&self) -> Option<Box<dyn Roles>> {
        None
    }

    /// Tools for the specialists of a tree search, beside those of the source, which gives skills of its own. None
    /// unless implemented.
    ///
    /// Asked for when a run begins that has specialists. An error says what cannot be used, such as a server
    /// that does not start.
    fn tools(
        &self,
        of_source: Vec<Skill>,
    ) -> BoxFuture<'_, Result<Vec<Arc<dyn Toolset>>, JudgeError>> {
        let _ = of_source;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// How long its calls may take, and how often they are tried. The deadline is that of the run.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Writes the result of a run that has ended in words of its own, if it does: then these take the
    /// place of those of the rules. Dropped when the run is cancelled.
    fn narrate<'a>(&'a self, finished: &'a AnyFinished) -> Option<BoxFuture<'a, Narrative>> {
        let _ = finished;
        None
    }

    /// The budget that did not allow a call, if one was not allowed.
    fn over_budget(&self) -> Option<BudgetKind> {
        None
    }

    /// Whether what it has said so far can be used.
    ///
    /// # Errors
    /// Why it says nothing, such as a key that was refused.
    fn check(&self) -> Result<(), JudgeError> {
        Ok(())
    }
}

/// A policy beside rules that choose where to start and write the result.
///
/// ```
/// use eog_evidence::EvidencePolicy;
/// use eog_session::judge::{Alone, Judge};
/// let judge: Box<dyn Judge> = Box::new(Alone(EvidencePolicy::default()));
/// # let _ = judge;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Alone<P>(pub P);

impl<P: AbductivePolicy + Clone + 'static> Judge for Alone<P> {
    fn policy(&self, _case: &Case) -> Box<dyn AbductivePolicy> {
        Box::new(self.0.clone())
    }
}

/// The built-in policy, which needs no model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence;

impl Evidence {
    /// Its name as an option.
    pub const NAME: &'static str = "evidence";

    /// Its name in ledgers with these weights: with their digest, since other weights judge otherwise.
    pub fn recorded_name(weights: &Weights) -> String {
        let digest = weights.digest().to_string();
        format!("{} (weights {})", Self::NAME, digest.get(..12).unwrap_or(&digest))
    }
}

impl Policies for Evidence {
    fn name(&self) -> String {
        Self::recorded_name(&Weights::shipped())
    }

    fn identity(&self, _case: &Case) -> Result<String, JudgeError> {
        // The version of all crates of this project, and the weights.
        Ok(format!("{} {}", self.name(), env!("CARGO_PKG_VERSION")))
    }

    fn judge(&self, _run: ForRun<'_>) -> Result<Box<dyn Judge>, JudgeError> {
        Ok(Box::new(Alone(EvidencePolicy::default())))
    }
}
