//! `eog verify`: the shipped incident, recorded on after a repair.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{FLASH_SALE, Run, causes, copy_tree, in_shell, json_of, read, run};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/verified.json");

/// A run of the shipped incident, and what was recorded until an hour later.
struct Repair {
    folder: tempfile::TempDir,
}

impl Repair {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        run!("investigate", FLASH_SALE, "--out", folder.path().join("result")).exits(0);
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The incident goes on for `minutes`. The sale is stopped at 12:33, if it is; from 12:38 on all is as usual, if it helps.
    fn record(&self, name: &str, minutes: u32, stopped: bool, helps: bool) -> PathBuf {
        let folder = self.path(name);
        copy_tree(FLASH_SALE, &folder);
        fs::write(folder.join("metrics.csv"), metrics(minutes, helps)).unwrap();
        edit(&folder.join("alerts.json"), |alerts| {
            let end = if helps { 37 } else { 30 + minutes };
            alerts[0]["last_seen"] = time(end).into();
            alerts[1]["last_seen"] = time(30 + minutes).into();
        });
        edit(&folder.join("changes.json"), |changes| {
            let mut undone = changes[1].clone();
            undone["time"] = time(33).into();
            (undone["old"], undone["new"]) = (json!("true"), json!("false"));
            undone["description"] = json!("the sale was stopped");
            changes.as_array_mut().unwrap().extend(stopped.then_some(undone));
        });
        folder
    }

    fn verify(&self, after: &Path, options: &[&str]) -> Run {
        run!("verify", self.path("result"), "--after", after, options)
    }
}

fn edit(file: &Path, edit: impl Fn(&mut Value)) {
    let mut value = json_of(&read(file));
    edit(&mut value);
    fs::write(file, value.to_string()).unwrap();
}

/// So many minutes after twelve.
fn time(minutes: u32) -> String {
    format!("2026-03-20T{}:{:02}:00Z", 12 + minutes / 60, minutes % 60)
}

/// The shipped series, each with its last value, or its first from 12:38 on if it is as usual then.
fn metrics(minutes: u32, helps: bool) -> String {
    let mut text = read(format!("{FLASH_SALE}/metrics.csv"));
    let rows: Vec<Vec<String>> =
        text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect();
    let series = |row: &Vec<String>| (row[1].clone(), row[2].clone(), row[6].clone());
    let last: BTreeMap<_, _> = rows.iter().map(|row| (series(row), row)).collect();
    let first: BTreeMap<_, _> = rows.iter().rev().map(|row| (series(row), row)).collect();
    for minute in (32..=30 + minutes).step_by(2) {
        for values in (if helps && minute >= 38 { &first } else { &last }).values() {
            text.push_str(&format!("{},{}\n", time(minute), values[1..].join(",")));
        }
    }
    text
}

#[test]
fn a_repair_that_helps_verifies_the_diagnosis() {
    let repair = Repair::new();
    let after = repair.record("after", 60, true, true);
    repair.verify(&after, &[]).exits(0).prints(&[
        "VERIFIED",
        "(on record): campaigns.spring-sale.active changed from true to false",
        "HttpErrorRate on gateway: last active 2026-03-20 12:37:00Z, 4 min after the repair",
    ]);
    let found = repair.verify(&after, &["--format", "json"]).exits(0).out;
    if std::env::var_os("EOG_UPDATE_CASES").is_some() {
        fs::write(GOLDEN, &found).unwrap();
    }
    assert_eq!(found, read(GOLDEN), "run this test with EOG_UPDATE_CASES=1 to renew the file");
}

#[test]
fn a_repair_that_does_not_help_withdraws_it_and_the_fork_names_another() {
    let repair = Repair::new();
    let after = repair.record("after", 60, true, false);
    repair.verify(&after, &[]).exits(3).prints(&["WITHDRAWN", "INVESTIGATE AGAIN"]);
    let found = repair.verify(&after, &["--format", "json"]).exits(3).json();
    let command = found["reopen"].as_str().unwrap().replace(" PATH ", &format!(" {FLASH_SALE} "));
    let line = format!("{command} --format json");
    let again = in_shell(&line, repair.folder.path()).exits(0).json();
    assert_eq!(causes(&again), ["processor"]);
    let why = "HttpErrorRate on gateway did not return";
    assert!(again["evidence"].to_string().contains(why), "{}", again["evidence"]);
}

#[test]
fn without_a_repair_on_record_its_time_is_needed() {
    let repair = Repair::new();
    let after = repair.record("after", 60, false, true);
    let hint = "give the time: --at TIME --action TEXT";
    repair.verify(&after, &[]).exits(4).says(&["no intervention on record", hint]);
    let at = time(33);
    let given = ["--at", &at, "--action", "sale stopped by phone"];
    repair.verify(&after, &given).exits(0).prints(&["(as given): sale stopped by phone"]);
    repair.verify(&after, &["--action", "stopped"]).exits(2).says(&["--at"]);
    let cause = ["--cause", "database"];
    repair.verify(&after, &cause).exits(2).says(&["--cause: database", "it names frontend"]);
    let early = ["--at", "2026-03-20T11:00:00Z"];
    repair.verify(&after, &early).exits(2).says(&["before the cause began"]);
}

#[test]
fn a_record_that_ends_too_early_says_until_when_it_is_needed() {
    let repair = Repair::new();
    let after = repair.record("after", 6, true, false);
    let until = "Repeat this with records until 2026-03-20 12:46:00Z";
    repair.verify(&after, &[]).exits(3).prints(&["TOO EARLY", until]);
    let found = repair.verify(&after, &["--format", "json"]).exits(3).json();
    assert_eq!(found["verdict"], "too_early");
    assert_eq!(found.get("reopen"), None);
}

#[test]
fn a_run_without_a_cause_predicts_nothing() {
    let repair = Repair::new();
    let out = repair.path("none");
    run!("investigate", FLASH_SALE, "--out", &*out, "--budget", "1").exits(3);
    let after = repair.record("after", 60, true, true);
    run!("verify", &*out, "--after", &*after).exits(4).says(&["names no cause"]);
}
