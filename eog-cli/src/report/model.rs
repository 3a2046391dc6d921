//! What every form of the report shows, gathered once.

use std::ops::Deref;

use super::course::{self, Fork};
use super::words;
use eog::{EntityId, Finished, RecordedAnswer, Spent, StopReason};
use eog_prompts::{Material, Narrative};
use serde::Serialize;

/// The result of an investigation with everything that explains it.
///
/// Stands for its [`Material`] wherever that is asked for.
pub(crate) struct Report {
    pub(crate) name: String,
    material: Material,
    /// The result as it is told.
    pub(crate) narrative: Narrative,
    pub(crate) window_reason: String,
    pub(crate) stop: StopReason,
    /// Whether it stopped because its journal took no more.
    pub(crate) is_unstored: bool,
    /// Where the ledger left those it was copied from.
    pub(crate) forks: Vec<Fork>,
    /// What the run did beside the result, unless this is a replay.
    pub(crate) run: Option<RunFigures>,
    pub(crate) spent: Spent,
    pub(crate) ignored: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// Evaluations without a context or decision, each with the reason.
    pub(crate) failures: Vec<String>,
    /// What was not taken over from decisions, by entity, each kind once.
    pub(crate) refusals: Vec<String>,
}

impl Deref for Report {
    type Target = Material;
    fn deref(&self) -> &Material {
        &self.material
    }
}

/// What a run did beside the result. Differs from run to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RunFigures {
    /// Policy calls that `--speculate` made ahead of their turn.
    pub(crate) early_calls: u64,
    /// Those whose answer was used.
    pub(crate) used_calls: u64,
    /// Those whose answer was not.
    pub(crate) wasted_calls: u64,
    /// Fetches of evidence made ahead of their turn and not used.
    pub(crate) wasted_fetches: u64,
    /// Attempts after failures that may pass.
    pub(crate) retries: u64,
}

impl Report {
    /// The report of a run that was made just now.
    pub(crate) fn of_run(name: String, finished: &Finished) -> Self {
        let speculation = finished.speculation;
        let run = RunFigures {
            early_calls: speculation.early_calls,
            used_calls: speculation.used_calls,
            wasted_calls: speculation.wasted_calls,
            wasted_fetches: speculation.wasted_fetches,
            retries: finished.retries,
        };
        Self { run: Some(run), ..Self::new(name, finished) }
    }

    pub(crate) fn new(name: String, finished: &Finished) -> Self {
        let controller = &finished.controller;
        let material = Material::of(controller);
        let mut window_reason = String::new();
        let mut ignored = Vec::new();
        let mut warnings = Vec::new();
        let mut failures = Vec::new();
        let mut refusals = Vec::new();
        for entry in controller.ledger().entries() {
            if let eog::EntryBody::Opened(opened) = &entry.body {
                let bootstrap = &opened.case.bootstrap;
                window_reason.clone_from(&bootstrap.window_reason);
                ignored.clone_from(&bootstrap.ignored);
                warnings.clone_from(&bootstrap.warnings);
            }
            if let Some(evaluation) = entry.evaluation() {
                if let RecordedAnswer::Failed(failure) = &evaluation.answer {
                    failures.push(format!("entry {}: {}: {failure}", entry.seq, evaluation.entity));
                }
                for refusal in &evaluation.refusals {
                    if let Some(words) = words::refusal(refusal) {
                        let refusal = format!("{}: {words}", evaluation.entity);
                        if !refusals.contains(&refusal) {
                            refusals.push(refusal);
                        }
                    }
                }
            }
        }
        Self {
            name,
            narrative: eog_prompts::narrate(&material),
            material,
            window_reason,
            stop: finished.stop,
            is_unstored: finished.journal_error.is_some(),
            forks: course::forks(controller.ledger()),
            run: None,
            spent: finished.spent(),
            ignored,
            warnings,
            failures,
            refusals,
        }
    }

    /// Whether not a single evaluation led to a decision.
    pub(crate) fn nothing_was_decided(&self) -> bool {
        self.spent.evaluations > 0 && self.spent.failures == self.spent.evaluations
    }

    /// What a reader should know beside the result, most important first.
    pub(crate) fn notes(&self) -> Vec<String> {
        let conclusion = &self.conclusion;
        let mut notes = self.failures.clone();
        let mut list = |what: &str, entities: &[EntityId]| {
            if !entities.is_empty() {
                notes.push(format!("{what}: {}", words::list(entities)));
            }
        };
        list("not evaluated successfully, or not again", &conclusion.stale);
        list("changed too often, set to Defer", &conclusion.damped);
        list("have messages they were not evaluated with", &conclusion.unread);
        notes.extend(self.refusals.iter().cloned());
        notes.extend(self.ignored.iter().map(|ignored| format!("left out: {ignored}")));
        notes.extend(self.warnings.iter().cloned());
        notes
    }
}
