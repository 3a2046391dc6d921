//! `--memory` of the real binary: with a program that notes each call.

use std::fs;
use std::path::{Path, PathBuf};

use eog::Journal;

use crate::common::{FLASH_SALE, Run, command, lines, run, script, start};

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
        let text =
            format!("# {comment}\ncat > /dev/null\necho call >> \"$0.calls\"\necho '{DECISION}'");
        script(self.path("policy.sh"), &text);
    }

    /// How often the policy was called, and forgets it.
    fn calls(&self) -> usize {
        let calls = lines(self.path("policy.sh.calls"));
        let _ = fs::remove_file(self.path("policy.sh.calls"));
        calls
    }

    /// Runs a command on the shipped incident with policy and memory.
    fn run(&self, begin: &[&str], options: &[&str]) -> Run {
        let policy = format!("command:{}", self.path("policy.sh").display());
        let memory = self.path("memory");
        run!(begin, FLASH_SALE, "--policy", policy, "--memory", memory, options).exits(3)
    }

    /// Investigates; returns the bytes of the ledger, and standard error.
    fn investigate(&self, options: &[&str]) -> (Vec<u8>, String) {
        let out = self.path("out");
        let options = [&["--out", out.to_str().unwrap()], options].concat();
        let run = self.run(&["investigate"], &options);
        (fs::read(out.join("ledger.jsonl")).unwrap(), run.err)
    }

    /// Goes on with a journal; returns standard error.
    fn resume(&self, journal: &Path) -> String {
        self.run(&["resume", journal.to_str().unwrap()], &[]).err
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

    let (_, said) = desk.investigate(&["--quiet"]);
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
    desk.investigate(&["--policy-arg", "--strict"]);
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
    desk.investigate(&["--journal", journal.to_str().unwrap()]);
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
    let memory = desk.path("memory");
    let begin = || start(&mut command!("investigate", FLASH_SALE, "--memory", memory));
    let running: Vec<_> = (0..4).map(|_| begin()).collect();
    let ended = running.into_iter().map(|child| child.wait_with_output().unwrap());
    let runs: Vec<Run> = ended.map(|output| Run::from(output).exits(0)).collect();
    assert!(runs.iter().all(|run| run.out == runs[0].out), "{runs:?}");
    let expected = "memory: 16 of 16 decisions were known\n";
    run!("investigate", FLASH_SALE, "--memory", memory).says(&[expected]);
}

#[test]
fn a_decision_that_cannot_be_kept_is_said_once_and_used() {
    let desk = Desk::new();
    let memory = desk.path("memory");
    let clear = format!("rm -rf '{0}'; : > '{0}'\ncat > /dev/null", memory.display());
    script(desk.path("policy.sh"), &format!("{clear}\necho '{DECISION}'"));
    let (_, errors) = desk.investigate(&["--quiet"]);
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(
        errors.contains("decisions could not be stored in the memory: cannot write "),
        "{errors}"
    );
}
