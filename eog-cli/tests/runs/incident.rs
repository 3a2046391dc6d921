//! An incident in which nothing explains an alert, and a program that judges it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{self, Run, alerts_bundle, command, script};

pub(crate) const ALERTS: usize = 10;
/// An alert that nothing explains has its entity evaluated twice more before the end.
pub(crate) const EVALUATIONS: usize = 3 * ALERTS;
/// What a program says that finds nothing.
pub(crate) const HEALTHY: &str = r#"echo '{"label": "healthy", "summary": "fine"}'"#;

pub(crate) struct Incident {
    folder: tempfile::TempDir,
}

impl Incident {
    /// The program notes each call in `policy.sh.calls` and goes on with this text, in which `$0` is
    /// the path of `policy.sh`.
    pub(crate) fn judged_by(text: &str) -> Self {
        let incident = Self { folder: tempfile::tempdir().unwrap() };
        let entities: Vec<String> = (0..ALERTS).map(|n| format!("service-{n}")).collect();
        let entities: Vec<&str> = entities.iter().map(String::as_str).collect();
        alerts_bundle(&incident.path("bundle"), "many alerts", &entities, &Value::Null);
        incident.is_judged_by(text);
        incident
    }

    /// Edits the program in place, so that its name stays.
    pub(crate) fn is_judged_by(&self, text: &str) {
        let noted = format!("cat > /dev/null\necho call >> \"$0.calls\"\n{text}");
        script(self.path("policy.sh"), &noted);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        common::read(self.path(name))
    }

    pub(crate) fn calls(&self) -> usize {
        common::lines(self.path("policy.sh.calls"))
    }

    /// The program, as `--policy` names it.
    pub(crate) fn policy(&self) -> String {
        format!("command:{}", self.path("policy.sh").display())
    }

    /// `eog investigate` of this incident by this program.
    pub(crate) fn investigate(&self, options: &[&str]) -> Command {
        command!("investigate", self.path("bundle"), "--policy", self.policy(), options)
    }

    /// The same with `run.journal`.
    pub(crate) fn journaled(&self, options: &[&str]) -> Run {
        let journal = self.path("run.journal");
        Run::of(self.investigate(options).arg("--journal").arg(journal))
    }

    /// `eog resume` of a journal.
    pub(crate) fn resume(&self, journal: &Path) -> Command {
        command!("resume", journal, self.path("bundle"), "--policy", self.policy())
    }

    /// `eog explain` of `service-1` in what `ledger` wrote.
    pub(crate) fn explain(&self, options: &[&str]) -> Run {
        let policy = self.policy();
        common::run!("explain", self.path("out"), "service-1", "--policy", policy, options).exits(0)
    }

    /// Investigates; returns the ledger that `--out` writes.
    pub(crate) fn ledger(&self, options: &[&str]) -> String {
        Run::of(self.investigate(options).arg("--out").arg(self.path("out"))).exits(3);
        self.read("out/ledger.jsonl")
    }

    /// Investigates; returns the journal, and its bytes.
    pub(crate) fn journal(&self) -> (PathBuf, Vec<u8>) {
        self.journaled(&[]).exits(3);
        let journal = self.path("run.journal");
        let whole = std::fs::read(&journal).unwrap();
        (journal, whole)
    }
}
