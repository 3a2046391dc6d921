//! An incident in which nothing explains an alert, and a program that judges it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use super::common::eog;

const ALERTS: usize = 10;
/// An alert that nobody explains has its entity looked at twice more before the end.
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
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("bundle");
        std::fs::create_dir(&bundle).unwrap();
        let manifest = json!({ "format": "eog-bundle", "version": 1, "name": "many alerts" });
        std::fs::write(bundle.join("bundle.json"), manifest.to_string()).unwrap();
        let alerts: Vec<_> = (0..ALERTS)
            .map(|n| {
                json!({ "name": "Errors", "entity": format!("service-{n}"), "signal": "errors",
                        "onset": "2026-01-01T10:05:00Z" })
            })
            .collect();
        std::fs::write(bundle.join("alerts.json"), json!(alerts).to_string()).unwrap();
        let policy = folder.path().join("policy.sh");
        let script = format!("#!/bin/sh\ncat > /dev/null\necho call >> \"$0.calls\"\n{text}\n");
        std::fs::write(&policy, script).unwrap();
        std::fs::set_permissions(&policy, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// `eog investigate` of this incident by this program.
    pub(crate) fn investigate(&self, options: &[&str]) -> Command {
        self.command(&["investigate".into()], options)
    }

    /// `eog resume` of a journal.
    pub(crate) fn resume(&self, journal: &Path) -> Command {
        self.command(&["resume".into(), journal.into()], &[])
    }

    fn command(&self, begin: &[OsString], options: &[&str]) -> Command {
        let mut command = eog();
        command.args(begin).arg(self.path("bundle"));
        command.arg("--policy").arg(format!("command:{}", self.path("policy.sh").display()));
        command.args(options);
        command
    }

    /// Investigates; returns the ledger that `--out` writes.
    pub(crate) fn ledger(&self, options: &[&str]) -> String {
        let out = self.path("out");
        let output = self.investigate(options).arg("--out").arg(&out).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        self.read("out/ledger.jsonl")
    }
}

/// What a command said on standard error.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
