//! What every form of the report shows, gathered once.

use std::ops::Deref;

use super::clean::clean_to;
use super::course::{self, Fork};
use super::words;
use eog::{EntityId, Finished, RecordedAnswer, Spent, StopReason};
use eog_prompts::{Material, Narrative};
use serde::Serialize;

/// Origins shown of those that reach no alert.
pub(super) const MAX_UNLINKED: usize = 10;
/// Characters shown of why each of them is called one.
const MAX_UNLINKED_REASON: usize = 140;

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
        let controller = &finished.machine;
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

    /// Origins that reach no alert, each with the beginning of why it is called one.
    pub(crate) fn unlinked_origins(&self) -> Vec<(&EntityId, String)> {
        let origins = self.unlinked().flat_map(|group| &group.origins);
        let why = |origin| {
            self.beliefs.get(origin).map(|belief| clean_to(&belief.summary, MAX_UNLINKED_REASON))
        };
        origins.map(|origin| (origin, why(origin).unwrap_or_default())).collect()
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

#[cfg(test)]
mod tests {
    use super::super::{markdown, text};
    use super::*;
    use eog::Config;
    use eog_testkit::{MemoryContext, finding, origin, policy_fn, run, seeded, topology};

    #[test]
    fn origins_that_reach_no_alert_say_why() {
        let names: Vec<String> = (10..22).map(|number| format!("db{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let contract = names.iter().fold(MemoryContext::default(), |contract, name| {
            contract.with(finding(name).change("pool", "50", "5").at("10:04"))
        });
        let policy = policy_fn(|packet| {
            let mut decision = origin(packet);
            decision.summary = format!("pool of {} cut {}END", packet.entity, "word ".repeat(40));
            decision
        });
        let case = seeded(topology(&names.join(";")), names);
        let report =
            Report::new("pools".to_owned(), &run(Config::default(), case, &contract, &policy));
        let section = |page: &str, title: &str| -> Vec<String> {
            let below = page.lines().skip_while(|line| !line.contains(title)).skip(1);
            let below = below.skip_while(|line| line.is_empty());
            below.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        for (page, title, more) in [
            (text(&report, None), "ORIGINS THAT REACH NO ALERT", "2 more origins"),
            (markdown(&report), "## Origins that reach no alert", "- and 2 more"),
        ] {
            let lines = section(&page, title);
            assert_eq!(lines.len(), MAX_UNLINKED + 1, "{page}");
            assert!(lines[0].contains("db10: pool of db10 cut word"), "{page}");
            assert!(lines[0].ends_with('…'), "{page}");
            assert!(lines[10].contains(more), "{page}");
        }
    }

    #[test]
    fn an_interrupted_run_says_so_beside_its_result() {
        let contract = MemoryContext::default();
        let policy = policy_fn(origin);
        let case = seeded(topology("db"), ["db"]);
        let mut report =
            Report::new("pools".to_owned(), &run(Config::default(), case, &contract, &policy));
        assert!(markdown(&report).contains("- Result: **inconclusive**\n"));
        assert!(text(&report, None).contains("INCONCLUSIVE: "));
        report.stop = StopReason::Cancelled;
        assert!(markdown(&report).contains("- Result: **inconclusive**, interrupted\n"));
        assert!(text(&report, None).contains("INCONCLUSIVE, interrupted: "));
    }
}
