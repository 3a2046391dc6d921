//! What makes a run faster or slower, of the real binary: asking ahead, limits, further attempts.
//! None of it may change a ledger; width may.

use serde_json::Value;

use super::incident::{EVALUATIONS, HEALTHY, Incident};
use crate::common::{FLASH_SALE, Run, investigate_json, read, recording};

/// The ledger that `--out` writes, and the result.
fn ledger_of(options: &[&str]) -> (String, Value) {
    let out = tempfile::tempdir().unwrap();
    let (code, result, errors) = investigate_json!(options, "--out", out);
    assert_eq!(code, 0, "{errors}");
    (read(out.path().join("ledger.jsonl")), result)
}

#[test]
fn asking_ahead_leaves_the_ledger_as_it_is() {
    let recorded = recording();
    let mut incidents = vec![vec![FLASH_SALE]];
    if let Some((snapshot, architecture)) = &recorded {
        let [snapshot, architecture] = [snapshot, architecture].map(|it| it.to_str().unwrap());
        incidents.push(vec![snapshot, "--architecture", architecture]);
    }
    for incident in incidents {
        let (expected, result) = ledger_of(&incident);
        assert_eq!(result["run"]["early_calls"], 0);
        let (ledger, result) = ledger_of(&[&incident[..], &["--speculate", "8"]].concat());
        assert!(ledger == expected, "{} differs", incident[0]);
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
    assert_eq!(incident.calls(), EVALUATIONS, "no call was wasted");
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
    let (_, result) = ledger_of(&[FLASH_SALE, "--speculate", "8", "--max-waste", "0"]);
    assert_eq!(result["run"]["early_calls"], 0);
}

#[test]
fn a_width_is_recorded_and_its_ledger_always_the_same() {
    let (one, _) = ledger_of(&[FLASH_SALE]);
    let (three, result) = ledger_of(&[FLASH_SALE, "--width", "3"]);
    assert_ne!(one, three);
    assert!(three.contains(r#""concurrency":{"window":3}"#));
    assert_eq!(result["conclusion"]["frontier"][0]["origins"][0], "frontend");
    let again = [FLASH_SALE, "--width", "3", "--speculate", "8"];
    for options in [&again[..3], &again] {
        assert!(ledger_of(options).0 == three, "{options:?}");
    }
}

/// Fails twice in a way that may pass, then judges.
const BUSY_TWICE: &str = r#"[ $(grep -c . "$0.calls") -gt 2 ] || exit 75"#;

#[test]
fn a_busy_program_is_tried_again_as_often_as_allowed() {
    let run = |options: &[&str]| {
        let incident = Incident::judged_by(&format!("{BUSY_TWICE}; {HEALTHY}"));
        let run = Run::of(&mut incident.investigate(options));
        (incident.calls(), run)
    };
    let (calls, busy) = run(&[]);
    assert_eq!(calls, EVALUATIONS + 2);
    busy.prints(&["converged\nthis run: 2 retries\n"]);
    let (calls, busy) = run(&["--retries", "0"]);
    assert_eq!(calls, EVALUATIONS);
    let text = busy.prints(&["2 failures; converged\n"]).out;
    assert!(!text.contains("this run"), "{text}");
}
