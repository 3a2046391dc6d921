//! The side file: what is read again, what is cut off, what is refused, and calls that are asked
//! once.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod damage;
mod making;
mod recorder;
mod simulated;
mod sums;

use std::fs;

use eog::side::{Durability, SideCut, SideError, SideFile};

use crate::making::{bytes_of, folder, outside, records};

#[test]
fn what_was_written_is_read() {
    let folder = folder();
    let journal = folder.path().join("run.journal");
    let (mut side, found) = SideFile::beside(&journal).unwrap();
    assert_eq!((found.records, found.cut), (vec![], None));
    assert_eq!(side.path(), folder.path().join("run.journal.side.jsonl"));
    side.append(&records()[..2], Durability::Lazy).unwrap();
    side.append(&[], Durability::Synced).unwrap();
    side.append(&records()[2..], Durability::Synced).unwrap();
    let path = SideFile::path_beside(&journal);
    // It was never closed: a process that is killed now has lost nothing.
    assert_eq!(SideFile::read(&path).unwrap().records, records());
    drop(side);

    let (_, found) = SideFile::beside(&journal).unwrap();
    assert_eq!((found.records, found.cut), (records(), None));
}

/// The lines that `docs/embedding.md` shows.
#[test]
fn the_lines_are_the_documented_ones() {
    let text = String::from_utf8(bytes_of(&records())).unwrap();
    let documented = include_str!("../../docs/embedding.md");
    assert!(text.lines().count() > 5);
    for line in text.lines() {
        assert!(documented.contains(&format!("\n{line}\n")), "{line}");
    }
}

#[test]
fn one_writer_at_a_time_and_any_reader() {
    let folder = folder();
    let journal = folder.path().join("run.journal");
    let (mut side, _) = SideFile::beside(&journal).unwrap();
    side.append(&records(), Durability::Lazy).unwrap();
    let error = SideFile::beside(&journal).unwrap_err();
    assert!(matches!(error, SideError::Locked { .. }), "{error}");
    assert_eq!(SideFile::read(side.path()).unwrap().records, records());
    drop(side);
    SideFile::beside(&journal).unwrap();
}

#[test]
fn a_record_that_is_too_long_or_too_deep_is_refused_and_the_file_goes_on() {
    let folder = folder();
    let (mut side, _) = SideFile::beside(folder.path().join("run.journal")).unwrap();
    let long = outside(1, &"x".repeat(eog::side::MAX_SIDE_LINE_BYTES as usize));
    let error = side.append(&[records()[0].clone(), long], Durability::Lazy).unwrap_err();
    assert!(matches!(error, SideError::TooLong { .. }), "{error}");
    let deep = (0..200).fold(serde_json::Value::Null, |inner, _| serde_json::json!([inner]));
    let error = side.append(&[outside(1, &deep)], Durability::Lazy).unwrap_err();
    assert!(matches!(error, SideError::Unusable { operation: "write", .. }), "{error}");
    assert!(error.to_string().contains("recursion limit"), "{error}");
    side.append(&records(), Durability::Lazy).unwrap();
    assert_eq!(SideFile::read(side.path()).unwrap().records, records());
}

#[test]
#[cfg(unix)]
fn a_vanished_file_takes_nothing_more() {
    let folder = folder();
    let (mut side, _) = SideFile::beside(folder.path().join("run.journal")).unwrap();
    fs::remove_file(side.path()).unwrap();
    let error = side.append(&records(), Durability::Lazy).unwrap_err();
    assert!(matches!(error, SideError::Vanished { .. }), "{error}");
    let error = side.append(&records(), Durability::Lazy).unwrap_err();
    assert!(matches!(error, SideError::Poisoned { .. }), "{error}");
}

#[test]
fn a_cut_is_reported_in_one_sentence() {
    let expected = "the side file ended in an interrupted write, so the 7 bytes of its line 3 were left \
                out; the lines before are whole";
    assert_eq!(SideCut { line: 3, bytes: 7 }.to_string(), expected);
}
