//! How to go on with an investigation that ended before its time.

use std::path::{Path, PathBuf};

use crate::shown::clean_line;
use eog::{BudgetKind, StopReason};
use eog_session::controllers::AnyFinished;
use eog_session::judge::{Chosen, PolicyChoice};
use eog_session::run::CutShort;

use crate::args::{By, Running};
use eog_report::shell_word as quoted;

/// What an investigation was made from and is stored in.
#[derive(Clone, Copy)]
pub(crate) struct Onward<'a> {
    pub(crate) journal: Option<&'a Path>,
    pub(crate) path: &'a Path,
    pub(crate) architecture: Option<&'a Path>,
}

impl Onward<'_> {
    /// The command that goes on, if the run stopped although something was left to do.
    pub(crate) fn after(
        &self,
        finished: &AnyFinished,
        cut_short: Option<CutShort>,
        running: &Running,
        judge: &Chosen,
    ) -> Option<String> {
        let journal = self.journal?;
        match finished.stop() {
            StopReason::Cancelled | StopReason::Deadline => self.resume(running, judge),
            // The limits of models are not those of the ledger: with others it goes on.
            StopReason::BudgetExhausted { which } if which != BudgetKind::Hops => {
                Some(self.with_more(which, journal, running, judge))
            }
            StopReason::BudgetExhausted { .. } => {
                let at = finished.entries().checked_sub(1)?;
                let more = finished.hops()?.saturating_mul(2);
                let end = format!(" --at {at} --budget {more}{}", limits(running, judge, None));
                Some(self.command("fork", journal, &end, running, judge))
            }
            StopReason::Converged { .. }
            | StopReason::SourceUnreachable { .. }
            | StopReason::SearchExhausted { .. } => match cut_short? {
                CutShort::Interrupted => self.resume(running, judge),
                CutShort::OverBudget(which) => Some(self.with_more(which, journal, running, judge)),
            },
        }
    }

    /// The command that goes on with a larger budget for models.
    fn with_more(
        &self,
        which: BudgetKind,
        journal: &Path,
        running: &Running,
        judge: &Chosen,
    ) -> String {
        let limits = limits(running, judge, Some(which));
        self.command("resume", journal, &limits, running, judge)
    }

    /// The command that goes on with the journal.
    pub(crate) fn resume(&self, running: &Running, judge: &Chosen) -> Option<String> {
        Some(self.command("resume", self.journal?, &limits(running, judge, None), running, judge))
    }

    fn command(
        &self,
        verb: &str,
        journal: &Path,
        options: &str,
        running: &Running,
        judge: &Chosen,
    ) -> String {
        let word = |path: &Path| quoted(&path.display().to_string());
        let mut command = format!("eog {verb} {} {}{options}", word(journal), word(self.path));
        if let Some(architecture) = self.architecture {
            command += &format!(" --architecture {}", word(architecture));
        }
        let mut add = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                command += &format!(" --{name} {}", quoted(value));
            }
        };
        let of = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let judging = &running.judging;
        match (&judge.settings.policy, &judging.policy) {
            (PolicyChoice::Command(program), _) => {
                add("policy", Some(&format!("command:{}", program.display())));
            }
            // --model says it, too.
            (PolicyChoice::Llm, Some(_)) if judging.model.is_none() => add("policy", Some("llm")),
            // A model that searches or summarizes would judge, too.
            (PolicyChoice::Evidence, Some(_)) => add("policy", Some("evidence")),
            _ => {}
        }
        add("out", of(&running.out).as_deref());
        add("config", of(&judging.config).as_deref());
        add("weights", of(&judging.weights).as_deref());
        add("model", judging.model.as_deref());
        add("base-url", judging.base_url.as_deref());
        add("finalize-model", judging.finalize_model.as_deref());
        add("prompts", of(&judging.prompts).as_deref());
        add("skills", of(&judging.skills).as_deref());
        add("tools", of(&judging.tools).as_deref());
        add("cassette", of(&judging.cassette).as_deref());
        let parts = [
            ("bootstrap", judging.bootstrap),
            ("roles", judging.roles),
            ("finalize", judging.finalize),
        ];
        for (name, who) in parts {
            add(name, who.map(|by| if by == By::Model { "model" } else { "rules" }));
        }
        for name in &judging.policy_env {
            command += &format!(" --policy-env {}", quoted(&name.to_string_lossy()));
        }
        // They may hold secrets, and what is said here may be logged.
        if !running.judging.policy_arg.is_empty() {
            command += " --policy-arg …";
        }
        command
    }
}

/// The limits of models that were given as options, for what goes on must not cost more than was
/// allowed; but more of one that is used up.
fn limits(running: &Running, judge: &Chosen, used_up: Option<BudgetKind>) -> String {
    let judging = &running.judging;
    let mut limits = String::new();
    let calls = match used_up {
        Some(BudgetKind::ModelCalls) => {
            judge.settings.max_model_calls().map(|calls| calls.saturating_mul(2).max(1))
        }
        _ => judging.max_model_calls,
    };
    limits.extend(calls.map(|calls| format!(" --max-model-calls {calls}")));
    limits += &match (used_up, judging.max_tokens) {
        (Some(BudgetKind::Tokens), _) => " --max-tokens …".to_owned(),
        (_, tokens) => tokens.map_or_else(String::new, |most| format!(" --max-tokens {most}")),
    };
    limits += &match (used_up, judging.max_usd) {
        (Some(BudgetKind::Cost), _) => " --max-usd …".to_owned(),
        (_, usd) => usd.map_or_else(String::new, |most| format!(" --max-usd {most}")),
    };
    limits
}

/// Says how to go on.
pub(crate) fn say(command: &str) {
    eprintln!("{}", clean_line(&format!("eog: continue with: {command}")));
}
