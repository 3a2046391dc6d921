//! `eog fork`: another course from an entry on, and what the other commands say of it.

use std::path::Path;

use serde_json::{Value, json};

use super::common::{eog, investigate_json};
use super::flash_sale;
use super::incident::{HEALTHY, Incident, said};

/// Exit code, standard output, standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = eog().args(arguments).output().unwrap();
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    (output.status.code().unwrap(), printed, said(&output))
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A run of the shipped incident, and places for its forks.
struct Parent {
    folder: tempfile::TempDir,
    result: Value,
}

impl Parent {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (incident, out) = (flash_sale(), folder.path().join("parent"));
        let journal = folder.path().join("parent.journal");
        let (code, result, _) = investigate_json(&[
            incident.as_os_str(),
            "--out".as_ref(),
            out.as_os_str(),
            "--journal".as_ref(),
            journal.as_os_str(),
        ]);
        assert_eq!(code, 0);
        Self { folder, result }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join(name)).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Forks into `fork` and prints JSON.
    fn fork(&self, ledger: &str, at: usize, options: &[&str]) -> (i32, String, String) {
        let (ledger, incident, at) = (self.path(ledger), flash_sale(), at.to_string());
        let (incident, out) = (incident.to_str().unwrap(), self.path("fork"));
        let begin = ["fork", &ledger, incident, "--at", &at, "--out", &out, "--format", "json"];
        run(&[&begin, options].concat())
    }
}

#[test]
fn without_a_change_every_fork_ends_with_the_same_frontier() {
    let parent = Parent::new();
    let lines = parent.lines("parent/ledger.jsonl");
    for at in 0..lines.len() {
        let (code, text, errors) = parent.fork("parent", at, &[]);
        assert_eq!(code, 0, "{errors}");
        let fork = json_of(&text);
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
        let replayed = run(&["replay", &parent.path("fork"), "--format", "json"]).1;
        assert_eq!(json_of(&replayed)["beliefs"], fork["beliefs"]);
    }
}

#[test]
fn another_policy_judges_from_the_fork_on_and_everybody_says_so() {
    let parent = Parent::new();
    let other = Incident::judged_by(HEALTHY);
    let policy = format!("command:{}", other.path("policy.sh").display());
    let journal = parent.path("fork.journal");
    let options = ["--policy", &policy, "--policy-arg", "secret", "--journal", &journal];
    let (code, text, errors) =
        parent.fork("parent.journal", 1, &[&options[..], &["--budget", "7"]].concat());
    assert_eq!(code, 3, "{errors}");
    let fork = json_of(&text);
    let judged: Vec<&str> = fork["beliefs"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(|belief| belief["summary"].as_str())
        .collect();
    assert!(judged.contains(&"fine"), "{judged:?}");
    let calls = other.read("policy.sh.calls").lines().count() as u64;
    assert_eq!(fork["spent"]["hops"].as_u64(), Some(1 + calls), "one call was shared");
    assert!(fork["spent"]["hops"].as_u64() <= Some(7), "those shared count");
    let settings = json!([{ "name": "budget.hops", "from": 200, "to": 7 }]);
    assert_eq!(fork["forks"][0]["settings"], settings);

    let words = format!("at entry 1: policy set to {policy} with 1 argument");
    let (code, text, _) = run(&["replay", &journal]);
    assert_eq!(code, 3);
    assert!(text.contains(&format!("forked {words}; budget from 200 to 7\n")), "{text}");
    let report = parent.lines("fork/report.md");
    let told = report.iter().find(|line| line.starts_with("- Forked at entry 1: "));
    assert!(told.is_some_and(|line| line.contains("budget from 200 to 7")), "{report:?}");
    let (_, listed, _) = run(&["replay", &journal, "--entries"]);
    assert!(listed.contains(&format!("2  forked {words}")), "{listed}");
    let (code, text, _) = run(&["diff", &parent.path("parent"), &journal]);
    assert_eq!(code, 0);
    let confidence = parent.result["conclusion"]["frontier"][0]["confidence"].as_str().unwrap();
    for part in [
        "they diverge at entry 2\n  first:  frontend is ",
        "\n  second: forked\n",
        &format!("the second is a fork of the first {words}; budget from 200 to 7\n"),
        &format!("frontend ({confidence})"),
        "no origin (inconclusive)",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    for name in ["fork/ledger.jsonl", "fork/report.md"] {
        assert!(!parent.lines(name).concat().contains("secret"), "{name} names no arguments");
    }

    // Nobody goes on with it by the built-in rules without being told to.
    let incident = flash_sale();
    let incident = incident.to_str().unwrap();
    let gone_on = |rest: &[&str]| {
        [
            run(&[&["resume", &journal, incident][..], rest].concat()),
            run(&[&["explain", &journal, "gateway"][..], rest].concat()),
            run(&[&["fork", &journal, incident, "--at", "5"][..], rest].concat()),
        ]
    };
    for (code, _, errors) in gone_on(&[]) {
        assert_eq!(code, 2);
        let said = ["with 1 argument, not evidence (weights ", "); give the same --policy"];
        assert!(said.iter().all(|part| errors.contains(part)), "{errors}");
    }
    let codes = gone_on(&["--policy", &policy]).map(|(code, ..)| code);
    assert_eq!(codes, [2, 2, 3], "without its argument it is another; a fork may change it");
    let codes = gone_on(&["--policy", &policy, "--policy-arg", "secret"]).map(|(code, ..)| code);
    assert_eq!(codes, [3, 0, 3]);
    // Before the fork it was nobody else.
    assert_eq!(run(&["fork", &journal, incident, "--at", "1"]).0, 0);
}

#[test]
fn only_what_differs_counts_as_changed() {
    let parent = Parent::new();
    let changed = |options: &[&str]| {
        let (_, text, errors) = parent.fork("parent", 1, options);
        assert!(!text.is_empty(), "{errors}");
        json_of(&text)["forks"][0].clone()
    };
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
    let (code, _, errors) = parent.fork("parent", 17, &["--journal", &journal]);
    assert_eq!(code, 4);
    let said = "there is no entry 17 to fork at; the ledger has entries 0 to 16";
    assert!(errors.contains(said), "{errors}");
    assert!(!Path::new(&journal).exists());

    let other = Incident::judged_by(HEALTHY);
    let other = other.path("bundle");
    let ledger = parent.path("parent");
    let arguments = ["fork", &ledger, other.to_str().unwrap(), "--at", "1", "--journal", &journal];
    let (code, _, errors) = run(&arguments);
    assert_eq!(code, 4);
    assert!(errors.contains("was started with a different input"), "{errors}");
    assert!(!Path::new(&journal).exists());

    // Nor does it write over what it reads.
    let before = std::fs::read(parent.path("parent.journal")).unwrap();
    let (code, ..) =
        parent.fork("parent.journal", 1, &["--journal", &parent.path("parent.journal")]);
    assert_eq!(code, 2);
    assert_eq!(std::fs::read(parent.path("parent.journal")).unwrap(), before);
}

#[test]
fn an_interrupted_fork_is_gone_on_with_from_its_journal() {
    let parent = Parent::new();
    let journal = parent.path("fork.journal");
    let options = ["--no-messages", "--journal", &journal];
    let (expected, ..) = parent.fork("parent.journal", 4, &options);
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    let (code, ..) = run(&["resume", &journal, flash_sale().to_str().unwrap()]);
    assert_eq!(code, expected);
    assert_eq!(std::fs::read(&journal).unwrap(), whole);
}

#[test]
fn entries_are_listed_one_a_line_with_the_numbers_that_fork_takes() {
    let parent = Parent::new();
    let (code, listed, _) = run(&["replay", &parent.path("parent.journal"), "--entries"]);
    assert_eq!(code, 0);
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
    let list = |name: &str| {
        let path = golden.join(name);
        run(&["replay", path.to_str().unwrap(), "--entries"]).1
    };
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
