//! `eog explain` where the policy is busy, fails or hangs, and where evaluations overlap.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::json;

use super::common::eog;
use super::incident::{HEALTHY, Incident, said};

/// What a program does that is busy after so many calls.
fn busy_after(calls: usize) -> String {
    format!("if [ $(wc -l < \"$0.calls\") -gt {calls} ]; then exit 75; fi\n{HEALTHY}")
}

/// An incident with a ledger, whose program does something else from now on.
fn then_judged_by(text: &str) -> Incident {
    let incident = Incident::judged_by(HEALTHY);
    incident.ledger(&[]);
    let policy = incident.path("policy.sh");
    let script = std::fs::read_to_string(&policy).unwrap();
    // Edited in place, its name stays.
    std::fs::write(&policy, script.replace(HEALTHY, text)).unwrap();
    std::fs::remove_file(incident.path("policy.sh.calls")).unwrap();
    incident
}

fn explain(incident: &Incident, options: &[&str]) -> Command {
    let mut command = eog();
    command.arg("explain").arg(incident.path("out")).arg("service-1");
    command.arg("--policy").arg(format!("command:{}", incident.path("policy.sh").display()));
    command.args(options);
    command
}

fn text(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn calls(incident: &Incident) -> usize {
    incident.read("policy.sh.calls").lines().count()
}

#[test]
fn what_a_busy_policy_could_not_be_asked_about_is_said() {
    let incident = then_judged_by(&busy_after(1));
    let text = text(&explain(&incident, &["--retries", "0"]).output().unwrap());
    assert!(!text.contains("No single finding or message"), "{text}");
    assert!(text.contains("The policy gave no answer for:"), "{text}");
    assert!(text.contains("unknown for "), "{text}");
    assert!(text.contains("75"), "{text}");
    // The packet holds the alert alone: once whole, once without it.
    assert_eq!(calls(&incident), 2);
}

#[test]
fn a_policy_that_is_busy_for_a_moment_is_asked_again() {
    let busy_at_first =
        format!("if [ $(wc -l < \"$0.calls\") -lt 3 ]; then exit 75; fi\n{HEALTHY}");
    let incident = then_judged_by(&busy_at_first);
    let said = text(&explain(&incident, &[]).output().unwrap());
    assert!(said.contains("No single finding or message"), "{said}");
    assert_eq!(calls(&incident), 4, "two more attempts for the whole packet, one for its part");

    let incident = then_judged_by(&busy_at_first);
    let said = text(&explain(&incident, &["--retries", "1"]).output().unwrap());
    assert!(said.contains("for the same packet the policy now fails: "), "{said}");
    assert_eq!(calls(&incident), 2);
}

#[test]
fn a_policy_that_hangs_is_given_up() {
    let incident = then_judged_by("sleep 60");
    let begun = Instant::now();
    let said = text(&explain(&incident, &["--policy-timeout", "0.3"]).output().unwrap());
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(said.contains("for the same packet the policy now fails: "), "{said}");
}

#[test]
fn messages_are_dated_by_what_an_evaluation_was_begun_with() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle");
    let chain = json!({ "format": "eog-bundle", "version": 1, "name": "a chain", "topology": {
        "entities": ["app", "db", "web"],
        "edges": [
            { "source": "web", "relation": "calls", "target": "app",
              "effects": "target_to_source" },
            { "source": "app", "relation": "calls", "target": "db",
              "effects": "target_to_source" },
        ],
    }});
    let alert = |entity: &str| {
        json!({ "name": "Errors", "entity": entity, "signal": "errors",
                "onset": "2026-01-01T10:05:00Z" })
    };
    std::fs::create_dir(&bundle).unwrap();
    std::fs::write(bundle.join("bundle.json"), chain.to_string()).unwrap();
    let alerts = json!(["app", "db", "web"].map(alert));
    std::fs::write(bundle.join("alerts.json"), alerts.to_string()).unwrap();
    let mut command = eog();
    command.arg("investigate").arg(&bundle).args(["--width", "16", "--quiet", "--out"]);
    let code = command.arg(folder.path()).output().unwrap().status.code();
    assert!(matches!(code, Some(0 | 3)), "{code:?}");
    let ledger = std::fs::read_to_string(folder.path().join("ledger.jsonl")).unwrap();
    let bodies: Vec<serde_json::Value> = ledger
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["body"].take())
        .collect();
    let names = |value: &serde_json::Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let seeds = bodies[0]["opened"]["case"]["seeds"].as_array().unwrap();
    let seeds: Vec<&str> = seeds.iter().map(|seed| seed["entity"].as_str().unwrap()).collect();
    // All of them are under way before the first has spoken.
    let mut spoken_to = 0;
    for (at, seed) in seeds.iter().enumerate() {
        let evaluated = &bodies[at + 1]["evaluated"];
        assert_eq!(evaluated["entity"].as_str().unwrap(), *seed);
        let told = names(&evaluated["outcome"]["broadcast_to"]);
        spoken_to +=
            seeds[at + 1..].iter().filter(|later| told.iter().any(|it| it == *later)).count();

        let output = eog().arg("explain").arg(folder.path()).arg(seed).output().unwrap();
        let text = text(&output);
        let mut steps = text.lines().skip_while(|line| *line != "HISTORY").skip(1);
        let first = steps.next().unwrap();
        assert!(first.starts_with(&format!("  entry {}: ", at + 1)), "{text}");
    }
    assert!(spoken_to > 0, "the incident shows nothing of it");
}
