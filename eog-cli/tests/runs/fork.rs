//! `eog fork`: another course from an entry on, and what the other commands say of it.

use std::path::Path;

use serde_json::{Value, json};

use super::incident::{HEALTHY, Incident};
use crate::common::{FLASH_SALE, Run, investigate_json, json_of, read, run};

/// A run of the shipped incident, and places for its forks.
struct Parent {
    folder: tempfile::TempDir,
    result: Value,
}

impl Parent {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (out, journal) = (folder.path().join("parent"), folder.path().join("parent.journal"));
        let (code, result, _) = investigate_json!(FLASH_SALE, "--out", out, "--journal", journal);
        assert_eq!(code, 0);
        Self { folder, result }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        read(self.path(name)).lines().map(str::to_owned).collect()
    }

    /// Forks into `fork` and prints JSON.
    fn fork(&self, ledger: &str, at: usize, options: &[&str]) -> Run {
        let (at, out) = (at.to_string(), self.path("fork"));
        let begin = ["--at", &at, "--out", &out, "--format", "json"];
        run!("fork", self.path(ledger), FLASH_SALE, begin, options)
    }
}

#[test]
fn without_a_change_every_fork_ends_with_the_same_frontier() {
    let parent = Parent::new();
    let lines = parent.lines("parent/ledger.jsonl");
    for at in 0..lines.len() {
        let fork = parent.fork("parent", at, &[]).exits(0).json();
        for part in ["conclusion", "beliefs"] {
            assert_eq!(fork[part], parent.result[part], "{part} of the fork at {at}");
        }
        let last = json_of(lines.last().unwrap());
        let expected = json!([{
            "at": at, "parent": last["hash"], "policy": null, "settings": []
        }]);
        assert_eq!(fork["forks"], expected);
        let forked = parent.lines("fork/ledger.jsonl");
        assert_eq!(forked[..=at], lines[..=at], "the shared entries are copies");
        assert_eq!(forked.len(), lines.len() + 1);
        assert!(forked[at + 1].contains(r#""changes":{}"#), "{}", forked[at + 1]);
        let replayed = run!("replay", parent.path("fork"), "--format", "json").json();
        assert_eq!(replayed["beliefs"], fork["beliefs"]);
    }
}

#[test]
fn another_policy_judges_from_the_fork_on_and_every_command_says_so() {
    let parent = Parent::new();
    let other = Incident::judged_by(HEALTHY);
    let policy = other.policy();
    let journal = parent.path("fork.journal");
    let options = ["--policy", &policy, "--policy-arg", "secret", "--journal", &journal];
    let options = [&options[..], &["--budget", "7"]].concat();
    let fork = parent.fork("parent.journal", 1, &options).exits(3).json();
    let judged: Vec<&str> = fork["beliefs"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(|belief| belief["summary"].as_str())
        .collect();
    assert!(judged.contains(&"fine"), "{judged:?}");
    let calls = other.calls() as u64;
    assert_eq!(fork["spent"]["hops"].as_u64(), Some(1 + calls), "one call was shared");
    assert!(fork["spent"]["hops"].as_u64() <= Some(7), "those shared count");
    let settings = json!([{ "name": "budget.hops", "from": 200, "to": 7 }]);
    assert_eq!(fork["forks"][0]["settings"], settings);

    let words = format!("at entry 1: policy set to {policy} with 1 argument");
    let forked = format!("forked {words}; budget from 200 to 7\n");
    run!("replay", journal).exits(3).prints(&[&forked]);
    let report = parent.lines("fork/report.md");
    let forked = report.iter().find(|line| line.starts_with("- forked at entry 1: "));
    assert!(forked.is_some_and(|line| line.contains("budget from 200 to 7")), "{report:?}");
    run!("replay", journal, "--entries").prints(&[&format!("2  forked {words}")]);
    let confidence = parent.result["conclusion"]["frontier"][0]["confidence"].as_str().unwrap();
    run!("diff", parent.path("parent"), journal).exits(0).prints(&[
        "they diverge at entry 2\n  first:  frontend is ",
        "\n  second: forked\n",
        &format!("the second is a fork of the first {words}; budget from 200 to 7\n"),
        &format!("frontend ({confidence})"),
        "no origin (inconclusive)",
    ]);
    for name in ["fork/ledger.jsonl", "fork/report.md"] {
        assert!(!parent.lines(name).concat().contains("secret"), "{name} names no arguments");
    }

    // It does not go on by the built-in rules unless that is asked for.
    let gone_on = |rest: &[&str]| {
        [
            run!("resume", journal, FLASH_SALE, rest),
            run!("explain", journal, "gateway", rest),
            run!("fork", journal, FLASH_SALE, "--at", "5", rest),
        ]
    };
    for refused in gone_on(&[]) {
        let said = ["with 1 argument, not evidence (weights ", "); give the same --policy"];
        refused.exits(2).says(&said);
    }
    let codes = |rest: &[&str]| gone_on(rest).map(|run| run.code.unwrap());
    // Without its argument it is another; a fork may change it.
    assert_eq!(codes(&["--policy", &policy]), [2, 2, 3]);
    assert_eq!(codes(&["--policy", &policy, "--policy-arg", "secret"]), [3, 0, 3]);
    // Before the fork it was the built-in policy.
    run!("fork", journal, FLASH_SALE, "--at", "1").exits(0);
}

#[test]
fn only_what_differs_counts_as_changed() {
    let parent = Parent::new();
    let changed = |options: &[&str]| parent.fork("parent", 1, options).json()["forks"][0].take();
    let same = ["--profile", "default", "--budget", "200", "--width", "1", "--messages"];
    let fork = changed(&same);
    assert_eq!((&fork["policy"], &fork["settings"]), (&Value::Null, &json!([])));
    // What the command line names counts: a program of the same name may be another by now.
    let named = changed(&["--policy", "evidence"]);
    assert!(named["policy"].as_str().unwrap().starts_with("evidence (weights "), "{named}");
    let settings = changed(&["--no-messages", "--width", "2"])["settings"].clone();
    let expected = json!([
        { "name": "broadcast", "from": true, "to": false },
        { "name": "concurrency.window", "from": 1, "to": 2 }
    ]);
    assert_eq!(settings, expected);
    let settings = changed(&["--profile", "paper", "--budget", "300"])["settings"].clone();
    let named = |name: &str| settings.as_array().unwrap().iter().any(|one| one["name"] == name);
    assert!(named("wake") && named("budget.hops") && !named("broadcast"), "{settings}");
}

#[test]
fn what_cannot_be_forked_leaves_nothing_behind() {
    let parent = Parent::new();
    let journal = parent.path("fork.journal");
    let said = "there is no entry 17 to fork at; the ledger has entries 0 to 16";
    parent.fork("parent", 17, &["--journal", &journal]).exits(4).says(&[said]);
    assert!(!Path::new(&journal).exists());

    let other = Incident::judged_by(HEALTHY);
    let other = other.path("bundle");
    let refused = run!("fork", parent.path("parent"), other, "--at", "1", "--journal", journal);
    refused.exits(4).says(&["was started with a different input"]);
    assert!(!Path::new(&journal).exists());

    // Nor does it write over what it reads.
    let own = parent.path("parent.journal");
    let before = std::fs::read(&own).unwrap();
    parent.fork("parent.journal", 1, &["--journal", &own]).exits(2);
    assert_eq!(std::fs::read(&own).unwrap(), before);
}

#[test]
fn an_interrupted_fork_is_gone_on_with_from_its_journal() {
    let parent = Parent::new();
    let journal = parent.path("fork.journal");
    let forked = parent.fork("parent.journal", 4, &["--no-messages", "--journal", &journal]);
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    run!("resume", journal, FLASH_SALE).exits(forked.code.unwrap());
    assert_eq!(std::fs::read(&journal).unwrap(), whole);
}

#[test]
fn entries_are_listed_one_a_line_with_the_numbers_that_fork_takes() {
    let parent = Parent::new();
    let listed = run!("replay", parent.path("parent.journal"), "--entries").exits(0).out;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 17);
    assert_eq!(lines[0], " 0  opened: 7 entities, 1 alert; starts at gateway");
    assert!(lines[1].starts_with(" 1  gateway symptom ("), "{listed}");
    assert!(
        lines[2].starts_with(" 2  frontend origin (claimed as a cause in entry 1, visit 1)"),
        "{listed}"
    );
    assert!(
        lines[10].contains("database symptom (activated by entry 9, visit 2): belief changed"),
        "{listed}"
    );
}

#[test]
fn every_kind_of_entry_can_be_listed() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/format-1");
    let list = |name: &str| run!("replay", golden.join(name), "--entries").out;
    let stops = list("halted.jsonl") + &list("out-of-money.jsonl") + &list("cancelled.jsonl");
    for part in [
        "stopped: deadline reached\n",
        "resumed\n",
        "stopped: token budget exhausted\n",
        "forked at entry 4: budget.tokens from 100 to 1000\n",
        "forked at entry 9: budget.cost_micro_usd from 50 to none\n",
        "stopped: interrupted\n",
        "observed: alert Slow on c; queued: c\n",
    ] {
        assert!(stops.contains(part), "{part}\n{stops}");
    }
    let others = list("failures.jsonl")
        + &list("oscillation.jsonl")
        + &list("refusals.jsonl")
        + &list("visit-limit.jsonl");
    for part in [
        ", failed: no decision: no \"reply\" ",
        "; not evaluated again, because it changed too often",
        "not queued, because it changed too often: ",
        "not queued, because of the visit limit: ",
        "not queued, because of the entity limit: ",
        ", remembered from entry ",
    ] {
        assert!(others.contains(part), "{part}\n{others}");
    }
}
