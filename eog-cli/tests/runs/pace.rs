//! What makes a run faster or slower, of the real binary: asking ahead, limits, further attempts.
//! None of it may change a ledger; width may.

use std::path::Path;

use super::common::eog;
use super::flash_sale;
use super::incident::{EVALUATIONS, HEALTHY, Incident, said};
use serde_json::Value;

/// The ledger that `--out` writes, and the result.
fn ledger_of(incident: &Path, options: &[&str]) -> (String, Value) {
    let out = tempfile::tempdir().unwrap();
    let mut command = eog();
    command.arg("investigate").arg(incident).args(options).arg("--out").arg(out.path());
    let output = command.args(["--format", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let ledger = std::fs::read_to_string(out.path().join("ledger.jsonl")).unwrap();
    (ledger, serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn asking_ahead_leaves_the_ledger_as_it_is() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    let architecture = data.join("architecture.json");
    let mut incidents = vec![(flash_sale(), vec![])];
    if data.join("scenario-2-partial").is_dir() {
        let options = vec!["--architecture", architecture.to_str().unwrap()];
        incidents.push((data.join("scenario-2-partial"), options));
    } else {
        eprintln!("skipped: no recording at {}", data.display());
    }
    for (incident, options) in incidents {
        let (expected, result) = ledger_of(&incident, &options);
        assert_eq!(result["run"]["early_calls"], 0);
        let ahead = [options, vec!["--speculate", "8"]].concat();
        let (ledger, result) = ledger_of(&incident, &ahead);
        assert!(ledger == expected, "{} differs", incident.display());
        let figures = |name: &str| result["run"][name].as_u64().unwrap();
        assert!(figures("early_calls") > 0, "nothing was asked ahead");
        assert_eq!(figures("early_calls"), figures("used_calls") + figures("wasted_calls"));
    }
}

/// Waits until so many calls have begun, and fails if they never do: they come one by one.
fn together(calls: usize) -> String {
    format!(
        "for i in $(seq 600); do\n\
           [ $(grep -c . \"$0.calls\") -ge {calls} ] && met=yes && break\n\
           sleep 0.05\n\
         done\n\
         [ -n \"$met\" ] || exit 1\n"
    )
}

#[test]
fn four_programs_run_at_once_when_four_are_asked_ahead() {
    let incident = Incident::judged_by(&(together(4) + HEALTHY));
    let ahead = incident.ledger(&["--speculate", "4"]);
    let calls = incident.read("policy.sh.calls").lines().count();
    assert_eq!(calls, EVALUATIONS, "nothing was asked in vain");
    assert!(!ahead.contains("policy_failed"), "all four met");
    // Now they need not wait for one another.
    assert_eq!(incident.ledger(&[]), ahead);
}

#[test]
fn no_more_programs_run_at_once_than_allowed() {
    let incident = Incident::judged_by(&format!(
        "echo begin >> \"$0.log\"\n{}sleep 0.05; echo end >> \"$0.log\"; {HEALTHY}",
        together(2)
    ));
    let ledger = incident.ledger(&["--speculate", "8", "--policy-calls", "2"]);
    assert!(!ledger.contains("policy_failed"), "two met");
    let log = incident.read("policy.sh.log");
    let mut under_way = 0_i32;
    let most = log.lines().map(|line| {
        under_way += if line == "begin" { 1 } else { -1 };
        under_way
    });
    assert_eq!(most.max(), Some(2));
}

#[test]
fn without_leave_to_waste_nothing_is_asked_ahead() {
    let (_, result) = ledger_of(&flash_sale(), &["--speculate", "8", "--max-waste", "0"]);
    assert_eq!(result["run"]["early_calls"], 0);
}

#[test]
fn a_width_is_recorded_and_its_ledger_always_the_same() {
    let (one, _) = ledger_of(&flash_sale(), &[]);
    let (three, result) = ledger_of(&flash_sale(), &["--width", "3"]);
    assert_ne!(one, three);
    assert!(three.contains(r#""concurrency":{"window":3}"#));
    assert_eq!(result["conclusion"]["frontier"][0]["origins"][0], "frontend");
    for options in [&["--width", "3"][..], &["--width", "3", "--speculate", "8"]] {
        assert!(ledger_of(&flash_sale(), options).0 == three, "{options:?}");
    }
}

/// Fails twice in a way that may pass, then judges.
const BUSY_TWICE: &str = r#"[ $(grep -c . "$0.calls") -gt 2 ] || exit 75"#;

#[test]
fn a_busy_program_is_tried_again_as_often_as_allowed() {
    let run = |options: &[&str]| {
        let incident = Incident::judged_by(&format!("{BUSY_TWICE}; {HEALTHY}"));
        let output = incident.investigate(options).output().unwrap();
        let calls = incident.read("policy.sh.calls").lines().count();
        (calls, String::from_utf8(output.stdout).unwrap())
    };
    let (calls, text) = run(&[]);
    assert_eq!(calls, EVALUATIONS + 2);
    assert!(text.contains("converged\nthis run: 2 retries\n"), "{text}");
    let (calls, text) = run(&["--retries", "0"]);
    assert_eq!(calls, EVALUATIONS);
    assert!(text.contains("2 failures; converged\n"), "{text}");
    assert!(!text.contains("this run"), "{text}");
}
