//! How to go on with an investigation that ended before its time.

use std::path::Path;

use eog::{BudgetKind, Finished, StopReason};

use crate::args::{PolicyChoice, Running};
use crate::report::{clean_line, quoted};

/// What an investigation was made from and is stored in.
#[derive(Clone, Copy)]
pub(crate) struct Onward<'a> {
    pub(crate) journal: Option<&'a Path>,
    pub(crate) path: &'a Path,
    pub(crate) architecture: Option<&'a Path>,
}

impl Onward<'_> {
    /// The command that goes on, if the run stopped although something was left to do.
    pub(crate) fn after(&self, finished: &Finished, running: &Running) -> Option<String> {
        let journal = self.journal?;
        match finished.stop {
            StopReason::Cancelled | StopReason::Deadline => self.resume(running),
            StopReason::BudgetExhausted { which: BudgetKind::Hops } => {
                let at = finished.ledger().next_seq().checked_sub(1)?;
                let more = finished.controller.config().budget.hops?.saturating_mul(2);
                let end = format!(" --at {at} --budget {more}");
                Some(self.command("fork", journal, &end, running))
            }
            _ => None,
        }
    }

    /// The command that goes on with the journal.
    pub(crate) fn resume(&self, running: &Running) -> Option<String> {
        Some(self.command("resume", self.journal?, "", running))
    }

    fn command(&self, verb: &str, journal: &Path, options: &str, running: &Running) -> String {
        let word = |path: &Path| quoted(&path.display().to_string());
        let mut command = format!("eog {verb} {} {}{options}", word(journal), word(self.path));
        if let Some(architecture) = self.architecture {
            command += &format!(" --architecture {}", word(architecture));
        }
        if let PolicyChoice::Command(program) = running.policy() {
            command += " --policy ";
            command += &quoted(&format!("command:{}", program.display()));
        }
        // They may hold secrets, and what is said here may be logged.
        if !running.policy_arg.is_empty() {
            command += " --policy-arg …";
        }
        command
    }
}

/// Says how to go on.
pub(crate) fn say(command: &str) {
    eprintln!("{}", clean_line(&format!("eog: go on with: {command}")));
}
