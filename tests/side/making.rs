//! Records and side files, for the other tests.

use std::fs;
use std::path::PathBuf;

use eog::side::{CallFigures, Durability, RunStart, SideFile, SideRecord};
use eog::{Digest, Spent, StopReason, Timestamp, Usage};
use eog_testkit::entity;
use serde::Serialize;
use tempfile::TempDir;

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .unwrap_or_else(|_| tempfile::tempdir().expect("there is a place for temporary files"))
}

pub(crate) fn second(number: i64) -> Timestamp {
    Timestamp::new(1_767_261_600 + number, 0).expect("it is in range")
}

pub(crate) fn cost(micro_usd: u64) -> Usage {
    Usage { model_calls: 1, tokens_in: 900, tokens_out: 80, cost_micro_usd: micro_usd }
}

/// An outside call at this second of the run that takes half of one.
pub(crate) fn outside(number: i64, answer: &impl Serialize) -> SideRecord {
    SideRecord::Outside {
        key: Digest::of(&number),
        name: "bootstrap".to_owned(),
        answer: serde_json::to_value(answer).unwrap(),
        usage: cost(1000),
        took_us: 500_000,
        at: second(number),
    }
}

pub(crate) fn run(number: i64, what: RunStart, entries: u64) -> SideRecord {
    SideRecord::Run { at: second(number), what, entries }
}

/// An evaluation whose policy call ends this long after the run began.
pub(crate) fn evaluation(entry: u64, ends_ms: u64) -> SideRecord {
    let policy = CallFigures {
        started_ms: ends_ms - 20,
        took_us: 20_000,
        attempts: 2,
        early: false,
        failures: vec!["no decision in time: no answer within 1 s".to_owned()],
    };
    let context = CallFigures {
        started_ms: ends_ms - 30,
        took_us: 9_500,
        attempts: 1,
        ..CallFigures::default()
    };
    SideRecord::Evaluation {
        entry,
        entity: entity("api"),
        context: Some(context),
        policy: Some(policy),
        usage: cost(250),
        model: Some("small-model".to_owned()),
        remembered: false,
    }
}

pub(crate) fn stopped(number: i64, entries: u64, wall_ms: u64) -> SideRecord {
    SideRecord::Stopped {
        at: second(number),
        entries,
        reason: StopReason::Cancelled,
        wall_ms,
        spent: Spent { evaluations: 1, hops: 1, usage: cost(250), ..Spent::default() },
    }
}

/// One record of each kind.
pub(crate) fn records() -> Vec<SideRecord> {
    vec![
        run(0, RunStart::Began, 0),
        outside(1, &["api is slow"]),
        evaluation(1, 2500),
        SideRecord::Wasted { calls: 1, usage: cost(40) },
        stopped(3, 2, 3000),
    ]
}

/// The file that holds these records.
pub(crate) fn bytes_of(records: &[SideRecord]) -> Vec<u8> {
    let folder = folder();
    let (mut side, _) = SideFile::beside(folder.path().join("run.journal")).unwrap();
    side.append(records, Durability::Lazy).unwrap();
    fs::read(side.path()).unwrap()
}

/// A folder with a side file of these bytes: the journal, and the side file.
pub(crate) fn file_of(bytes: &[u8]) -> (TempDir, PathBuf, PathBuf) {
    let folder = folder();
    let journal = folder.path().join("run.journal");
    let path = SideFile::path_beside(&journal);
    fs::write(&path, bytes).unwrap();
    (folder, journal, path)
}
