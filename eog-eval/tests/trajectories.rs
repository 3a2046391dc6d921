//! Failures are counted as people count them: trajectories with labels that were given by hand, by reading them,
//! before anything was counted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use eog_eval::trajectory::{Counts, Failures, Mode, Trajectory};

type Labels = BTreeMap<String, BTreeMap<String, Option<u32>>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trajectories")
}

fn labels() -> Labels {
    let text = std::fs::read_to_string(folder().join("labels.json")).expect("it is there");
    serde_json::from_str(&text).expect("labels by trajectory and mode")
}

/// The true causes. Those of runs that were read are next to what readers said.
fn truth(name: &str) -> BTreeSet<String> {
    let Some(read) = name.strip_prefix("read/") else {
        return ["db", "frontend"].map(str::to_owned).into();
    };
    let text = std::fs::read_to_string(folder().join("read/labels.json")).expect("it is there");
    let all: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    BTreeSet::from([all[read]["cause"].as_str().expect("a name").to_owned()])
}

fn file(name: &str) -> PathBuf {
    let json = folder().join(format!("{name}.json"));
    if json.exists() { json } else { folder().join(format!("{name}.jsonl")) }
}

#[test]
fn counts_are_the_labels() {
    let labels = labels();
    assert_eq!(labels.len(), 20);
    let mut wrong = Vec::new();
    for (name, expected) in &labels {
        let trajectory = Trajectory::read(&file(name)).expect("it can be read");
        let counts = Counts::of(&trajectory, Some(&truth(name)));
        for mode in Mode::ALL {
            let (label, count) = (expected[mode.column()], counts.get(mode));
            if label != count {
                wrong.push(format!("{name}, {mode}: labelled {label:?}, counted {count:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_mode_that_can_be_decided_happens_in_one_of_them() {
    let labels = labels();
    for mode in Mode::ALL {
        let counts: Vec<Option<u32>> = labels.values().map(|it| it[mode.column()]).collect();
        let is_decidable = counts.iter().any(Option::is_some);
        let happens = counts.iter().any(|count| *count > Some(0));
        assert_eq!(is_decidable, happens, "{mode}");
    }
}

#[test]
fn a_sum_says_how_many_decide_a_mode() {
    let paths: Vec<PathBuf> = labels().keys().map(|name| file(name)).collect();
    let failures = Failures::of_files(&paths, None, |_, _| ()).expect("all can be read");
    let text = failures.to_string();
    assert!(text.contains("3.3 accepted the wrong one            not counted"), "{text}");
    assert!(text.contains("2.3 derailed                          not counted"), "{text}");
    assert_eq!(failures.all.trajectories, labels().len());
    let (.., decided) = failures.all.modes[&Mode::AbandonedPlan];
    assert!(decided < labels().len(), "no plan is not an empty plan");
    assert_eq!(failures.to_csv().lines().count(), labels().len() + 1);
}

#[test]
fn what_is_no_trajectory_is_refused_by_name_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("odd.json");
    for (text, why) in [
        ("{\n \"steps\": 7 }", "line 2"),
        ("{}", "missing field `steps`"),
        ("{ \"steps\": [], \"shell\": 1 }", "unknown field `shell`"),
        // What ITBench's agents leave: a result.
        ("{ \"entities\": [], \"propagations\": [] }", "does not hold its steps"),
    ] {
        std::fs::write(&path, text).expect("it can be written");
        let error = Trajectory::read(&path).expect_err("it is none").to_string();
        assert!(error.contains("odd.json") && error.contains(why), "{error}");
    }
    let error = Trajectory::read(&folder.path().join("none")).expect_err("absent").to_string();
    assert!(error.contains("no such file"), "{error}");
}
