//! `eog explain` where the policy is busy, fails or hangs, and where evaluations overlap.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::incident::{HEALTHY, Incident};
use crate::common::{alerts_bundle, json_of, read, run, strings};

/// What a program does that is busy after so many calls.
fn busy_after(calls: usize) -> String {
    format!("if [ $(wc -l < \"$0.calls\") -gt {calls} ]; then exit 75; fi\n{HEALTHY}")
}

/// An incident with a ledger, whose program does something else from now on.
fn then_judged_by(text: &str) -> Incident {
    let incident = Incident::judged_by(HEALTHY);
    incident.ledger(&[]);
    incident.is_judged_by(text);
    std::fs::remove_file(incident.path("policy.sh.calls")).unwrap();
    incident
}

#[test]
fn what_a_busy_policy_could_not_be_asked_about_is_said() {
    let incident = then_judged_by(&busy_after(1));
    let explained = incident.explain(&["--retries", "0"]);
    let explained = explained.prints(&["The policy gave no answer for:", "unknown for ", "75"]).out;
    assert!(!explained.contains("No single finding or message"), "{explained}");
    // The packet holds the alert alone: once whole, once without it.
    assert_eq!(incident.calls(), 2);
}

#[test]
fn a_policy_that_is_busy_for_a_moment_is_asked_again() {
    let busy_at_first =
        format!("if [ $(wc -l < \"$0.calls\") -lt 3 ]; then exit 75; fi\n{HEALTHY}");
    let incident = then_judged_by(&busy_at_first);
    incident.explain(&[]).prints(&["No single finding or message"]);
    assert_eq!(incident.calls(), 4, "two more attempts for the whole packet, one for its part");

    let incident = then_judged_by(&busy_at_first);
    let expected = "for the same packet the policy now fails: ";
    incident.explain(&["--retries", "1"]).prints(&[expected]);
    assert_eq!(incident.calls(), 2);
}

#[test]
fn a_policy_that_hangs_is_given_up() {
    let incident = then_judged_by("sleep 60");
    let begun = Instant::now();
    let expected = "for the same packet the policy now fails: ";
    incident.explain(&["--policy-timeout", "0.3"]).prints(&[expected]);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn messages_are_dated_by_what_an_evaluation_was_begun_with() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle");
    let calls = |source: &str, target: &str| {
        json!({ "source": source, "relation": "calls", "target": target,
                "effects": "target_to_source" })
    };
    let entities = ["app", "db", "web"];
    let edges = [calls("web", "app"), calls("app", "db")];
    let topology = json!({ "entities": entities, "edges": edges });
    alerts_bundle(&bundle, "a chain", &entities, &topology);
    let run = run!("investigate", bundle, "--width", "16", "--quiet", "--out", folder);
    assert!(matches!(run.code, Some(0 | 3)), "{run:?}");
    let ledger = read(folder.path().join("ledger.jsonl"));
    let bodies: Vec<Value> = ledger.lines().map(|line| json_of(line)["body"].take()).collect();
    let seeds = bodies[0]["opened"]["case"]["seeds"].as_array().unwrap();
    let seeds: Vec<&str> = seeds.iter().map(|seed| seed["entity"].as_str().unwrap()).collect();
    // All of them are under way before the first has spoken.
    let mut spoken_to = 0;
    for (at, seed) in seeds.iter().enumerate() {
        let evaluated = &bodies[at + 1]["evaluated"];
        assert_eq!(evaluated["entity"].as_str().unwrap(), *seed);
        let receivers = strings(&evaluated["outcome"]["broadcast_to"]);
        let later = seeds[at + 1..].iter();
        spoken_to += later.filter(|later| receivers.iter().any(|it| it == *later)).count();

        let text = run!("explain", folder, *seed).exits(0).out;
        let mut steps = text.lines().skip_while(|line| *line != "HISTORY").skip(1);
        let first = steps.next().unwrap();
        assert!(first.starts_with(&format!("  entry {}: ", at + 1)), "{text}");
    }
    assert!(spoken_to > 0, "the incident shows nothing of it");
}
