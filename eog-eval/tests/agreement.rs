//! How far the counts agree with people who read: real trajectories that two readers labelled by the definitions of
//! MAST, each alone, without the rules.
//!
//! `read/NN.txt` is what they read, `NN.jsonl` the ledger of the same run. `EOG_UPDATE_CASES=1` writes the table
//! anew; it is no target, but what is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use eog_eval::trajectory::{Counts, Mode, Trajectory};
use serde::Deserialize;

#[derive(Deserialize)]
struct Read {
    cause: String,
    /// By reader.
    readers: [Vec<Label>; 2],
}

#[derive(Deserialize)]
struct Label {
    mode: String,
    /// As they are numbered in the text.
    steps: Vec<u32>,
    why: String,
}

/// The modes of MAST, each with those of ours that are it.
const MODES: [(&str, &[Mode]); 14] = [
    ("1.1", &[Mode::DisobeyedTask]),
    ("1.2", &[Mode::DisobeyedRole]),
    ("1.3", &[Mode::RepeatedFailure, Mode::RepeatedSuccess]),
    ("1.4", &[Mode::LostHistory]),
    ("1.5", &[Mode::UnawareOfEnd]),
    ("2.1", &[Mode::Reset]),
    ("2.2", &[Mode::NoClarification]),
    ("2.3", &[Mode::Derailed]),
    ("2.4", &[Mode::Withheld]),
    ("2.5", &[Mode::IgnoredInput]),
    ("2.6", &[Mode::Mismatch]),
    ("3.1", &[Mode::PrematureEnd]),
    ("3.2", &[Mode::NotVerified]),
    ("3.3", &[Mode::WrongVerification]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trajectories/read")
}

fn labels() -> BTreeMap<String, Read> {
    let text = std::fs::read_to_string(folder().join("labels.json")).expect("it is there");
    serde_json::from_str(&text).expect("labels by trajectory and reader")
}

/// Cohen's kappa; nothing where chance alone agrees always.
fn kappa(pairs: &[(bool, bool)]) -> Option<f64> {
    let all = pairs.len() as f64;
    let share = |of: fn(&&(bool, bool)) -> bool| pairs.iter().filter(of).count() as f64 / all;
    let (one, other) = (share(|it| it.0), share(|it| it.1));
    let agreed = share(|it| it.0 == it.1);
    let by_chance = one * other + (1.0 - one) * (1.0 - other);
    (all > 0.0 && by_chance < 1.0).then(|| (agreed - by_chance) / (1.0 - by_chance))
}

fn rounded(kappa: Option<f64>) -> String {
    kappa.map_or_else(|| "–".to_owned(), |kappa| format!("{kappa:.2}"))
}

/// In how many trajectories each mode is, by the first and the second reader, by both, and by the rules.
fn agreement() -> String {
    let mut text = String::from(
        "mode | first | second | both | kappa of readers | rules | decided | rules and a reader | \
         kappa of rules and first | and second\n",
    );
    let read = labels();
    let counts: BTreeMap<&String, Counts> = read
        .iter()
        .map(|(name, it)| {
            let path = folder().join(format!("{name}.jsonl"));
            let trajectory = Trajectory::read(&path).expect("it can be read");
            let truth = BTreeSet::from([it.cause.clone()]);
            (name, Counts::of(&trajectory, Some(&truth)))
        })
        .collect();
    for (mode, ours) in MODES {
        let labelled =
            |it: &Read, reader: usize| it.readers[reader].iter().any(|label| label.mode == mode);
        let readers: Vec<(bool, bool)> =
            read.values().map(|it| (labelled(it, 0), labelled(it, 1))).collect();
        let decided: Vec<(bool, bool, bool)> = read
            .iter()
            .filter_map(|(name, it)| {
                let counts: Option<Vec<u32>> =
                    ours.iter().map(|mode| counts[name].get(*mode)).collect();
                let happens = counts?.iter().sum::<u32>() > 0;
                Some((happens, labelled(it, 0), labelled(it, 1)))
            })
            .collect();
        let count = |of: fn(&&(bool, bool)) -> bool| readers.iter().filter(of).count();
        let with = |reader: fn(&(bool, bool, bool)) -> bool| {
            let pairs: Vec<(bool, bool)> = decided.iter().map(|it| (it.0, reader(it))).collect();
            rounded(kappa(&pairs))
        };
        let (first, second, both) = (count(|it| it.0), count(|it| it.1), count(|it| it.0 && it.1));
        let rules = decided.iter().filter(|it| it.0).count();
        let agreed = decided.iter().filter(|it| it.0 && (it.1 || it.2)).count();
        let _ = writeln!(
            text,
            "{mode} | {first} | {second} | {both} | {} | {rules} | {} | {agreed} | {} | {}",
            rounded(kappa(&readers)),
            decided.len(),
            with(|it| it.1),
            with(|it| it.2),
        );
    }
    text
}

#[test]
fn the_table_of_agreement_is_what_is() {
    let path = folder().join("agreement.txt");
    let found = agreement();
    if std::env::var_os("EOG_UPDATE_CASES").is_some() {
        std::fs::write(&path, &found).expect("it can be written");
    }
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), found);
}

/// Each label names steps that are in the text, with a reason; some trajectories show a mode and some do not.
#[test]
fn labels_point_into_what_was_read() {
    let read = labels();
    assert!(read.len() >= 12);
    for (name, it) in &read {
        let text =
            std::fs::read_to_string(folder().join(format!("{name}.txt"))).expect("it is there");
        for label in it.readers.iter().flatten() {
            assert!(MODES.iter().any(|(mode, _)| *mode == label.mode), "{name}: {}", label.mode);
            assert!(!label.why.is_empty() && !label.steps.is_empty(), "{name}: {}", label.mode);
            for step in &label.steps {
                let is_there = text.lines().any(|line| line.starts_with(&format!("{step}. ")));
                assert!(is_there, "{name}, {}: there is no step {step}", label.mode);
            }
        }
    }
}
