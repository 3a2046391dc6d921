//! `--memory` of the real binary: with a program that notes each call.

use crate::common;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{eog, investigate_json};
use eog::Journal;

/// A program that blames nothing on anyone, and a place for its memory.
const DECISION: &str = r#"{"label": "defer", "summary": "unclear",
  "proposals": [{"entity": "database", "direction": "downstream", "reason": "look there"}]}"#;

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        desk.write_policy("first version");
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write_policy(&self, comment: &str) {
        let script = format!(
            "#!/bin/sh\n# {comment}\ncat > /dev/null\necho call >> \"$0.calls\"\n\
             echo '{DECISION}'\n"
        );
        let path = self.path("policy.sh");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// How often the policy was called, and forgets it.
    fn calls(&self) -> usize {
        let calls = self.path("policy.sh.calls");
        let text = fs::read_to_string(&calls).unwrap_or_default();
        let _ = fs::remove_file(&calls);
        text.lines().count()
    }

    /// The shipped incident with policy and memory, and more options.
    fn arguments(&self, options: &[&OsStr]) -> Vec<OsString> {
        let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
        let policy = format!("command:{}", self.path("policy.sh").display());
        let memory = self.path("memory").into_os_string();
        let mut arguments = vec![bundle.into_os_string(), "--policy".into(), policy.into()];
        arguments.extend(["--memory".into(), memory]);
        arguments.extend(options.iter().map(|option| option.to_os_string()));
        arguments
    }

    /// Investigates; returns the bytes of the ledger, and standard error.
    fn investigate(&self, options: &[&OsStr]) -> (Vec<u8>, String) {
        let out = self.path("out");
        let mut arguments = self.arguments(options);
        arguments.extend(["--out".into(), out.clone().into_os_string()]);
        let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
        let (code, _, errors) = investigate_json(&arguments);
        assert_eq!(code, 3, "{errors}");
        (fs::read(out.join("ledger.jsonl")).unwrap(), errors)
    }

    /// Goes on with a journal; returns standard error.
    fn resume(&self, journal: &Path) -> String {
        let output = eog().arg("resume").arg(journal).args(self.arguments(&[])).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{errors}");
        errors
    }

    fn remembered(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.path("memory")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }
}

#[test]
fn a_second_run_asks_nothing_and_writes_the_same_ledger() {
    let desk = Desk::new();
    let (first, said) = desk.investigate(&[]);
    let calls = desk.calls();
    assert!(calls >= 2, "{calls} calls");
    assert!(said.contains(&format!("memory: 0 of {calls} decisions were known\n")), "{said}");
    assert_eq!(desk.remembered().len(), calls);

    let (second, said) = desk.investigate(&[]);
    assert_eq!(desk.calls(), 0);
    assert_eq!(second, first);
    assert!(said.contains(&format!("memory: {calls} of {calls} decisions were known\n")), "{said}");

    let (_, said) = desk.investigate(&["--quiet".as_ref()]);
    assert_eq!((desk.calls(), said.as_str()), (0, ""));
}

#[test]
fn an_edited_program_or_another_argument_asks_again() {
    let desk = Desk::new();
    desk.investigate(&[]);
    let calls = desk.calls();
    desk.write_policy("second version");
    desk.investigate(&[]);
    assert_eq!(desk.calls(), calls);
    desk.investigate(&["--policy-arg".as_ref(), "--strict".as_ref()]);
    assert_eq!(desk.calls(), calls);
    desk.write_policy("first version");
    desk.investigate(&[]);
    assert_eq!(desk.calls(), 0, "the first version is still known");
}

#[test]
fn a_damaged_file_is_asked_for_again_and_replaced() {
    let desk = Desk::new();
    let (first, _) = desk.investigate(&[]);
    desk.calls();
    let file = desk.remembered().remove(0);
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, whole.replacen("unclear", "certain", 1)).unwrap();
    let (second, said) = desk.investigate(&[]);
    assert_eq!(desk.calls(), 1);
    assert_eq!(second, first);
    assert!(said.contains("; 1 damaged decision was ignored, and requested again\n"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), whole);
}

#[test]
fn an_interrupted_run_is_gone_on_with_from_memory() {
    let desk = Desk::new();
    let journal = desk.path("run.journal");
    desk.investigate(&["--journal".as_ref(), journal.as_os_str()]);
    let whole = fs::read(&journal).unwrap();
    let calls = desk.calls();
    // As if it had been killed with the last entry half written: its answer was paid for.
    fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    let errors = desk.resume(&journal);
    assert_eq!(desk.calls(), 0);
    assert!(errors.contains("memory: 1 of 1 decision was known\n"), "{errors}");
    assert_eq!(fs::read(&journal).unwrap(), whole);
    // Of the whole journal nothing is missing.
    let errors = desk.resume(&journal);
    assert!(errors.contains("memory: no calls\n"), "{errors}");
    assert_eq!(Journal::read(&journal).unwrap().ledger.evaluations().count(), calls);
}

#[test]
fn processes_share_a_folder() {
    let desk = Desk::new();
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    let memory = desk.path("memory");
    let start = || {
        let mut command = eog();
        command.arg("investigate").arg(&bundle).arg("--memory").arg(&memory);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let running: Vec<_> = (0..4).map(|_| start()).collect();
    let outputs: Vec<_> =
        running.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, outputs[0].stdout);
    }
    let last = start().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&last.stderr);
    assert!(said.contains("memory: 16 of 16 decisions were known\n"), "{said}");
}

#[test]
fn a_decision_that_cannot_be_kept_is_said_once_and_used() {
    let desk = Desk::new();
    let clear = format!(
        "#!/bin/sh\nrm -rf '{0}'; : > '{0}'\ncat > /dev/null\necho '{DECISION}'\n",
        desk.path("memory").display()
    );
    fs::write(desk.path("policy.sh"), clear).unwrap();
    let (_, errors) = desk.investigate(&["--quiet".as_ref()]);
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(
        errors.contains("decisions could not be stored in the memory: cannot write "),
        "{errors}"
    );
}
