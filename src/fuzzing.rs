//! Properties of the files beside a journal and of the output of programs, whatever they hold. Each function
//! takes bytes and panics when a property does not hold; the targets of `fuzz/` and the tests of this crate call
//! the same ones.

use std::fs;

use eog_core::controller::Checkpoint;
use eog_core::{Controller, Digest, Ledger};

use crate::side::SideFile;
use crate::{command, memory};

/// A side file is read without a change; opened to go on, it holds the same.
///
/// # Panics
/// When it does not.
pub fn side_file(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let journal = folder.path().join("a.journal");
    let path = SideFile::path_beside(&journal);
    fs::write(&path, bytes).expect("a file in it");
    let read = SideFile::read(&path);
    assert_eq!(fs::read(&path).ok().as_deref(), Some(bytes), "reading changed it");
    // An empty file is none yet, and becomes one when it is opened.
    let Ok(read) = read else { return };
    let _ = (read.usage_so_far(), read.wall_so_far(), read.outside(&Digest::ZERO));
    let (_, opened) = SideFile::beside(&journal).expect("it was read a moment ago");
    assert_eq!(opened.records, read.records);
}

/// A checkpoint file is what was written, or none. A payload either leads to the machine that the ledger alone
/// leads to, or is refused.
///
/// # Panics
/// When neither is so.
pub fn checkpoint(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let journal = folder.path().join("a.journal");
    fs::write(folder.path().join("a.journal.checkpoint"), bytes).expect("a file in it");
    if let Some(payload) = crate::journal::read_checkpoint(&journal) {
        assert!(bytes.ends_with(&payload));
    }
    let ledger = ledger();
    let Ok(state) = serde_json::from_slice::<Checkpoint>(bytes) else { return };
    if let Ok(machine) = Controller::restore_from(&state, &ledger) {
        assert_eq!(machine.ledger().head(), ledger.head());
    }
}

/// A ledger that a checkpoint may be of.
fn ledger() -> Ledger {
    let text = include_str!("../tests/golden/format-1/budget.jsonl");
    Ledger::from_json_lines(text).expect("it is a ledger")
}

/// The output of a program is a decision, or a short reason why it is none.
///
/// # Panics
/// When it is neither.
pub fn decision(bytes: &[u8]) {
    if let Err(reason) = command::parse(bytes) {
        assert!(!reason.is_empty() && reason.len() < 4_000, "{reason}");
    }
}

/// A file of a memory is a decision of its question, or none.
///
/// # Panics
/// Never.
pub fn memory(bytes: &[u8]) {
    memory::read_any(bytes);
}

#[cfg(test)]
#[path = "../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::replay::replay;
    use super::{Controller, ledger};

    /// Its checkpoint is a seed of the target.
    #[test]
    fn a_ledger_is_led_to_by_its_own_checkpoint() {
        let machine = Controller::restore(&ledger()).unwrap();
        let own = serde_json::to_string(&machine.checkpoint()).unwrap();
        println!("{own}");
        super::checkpoint(own.as_bytes());
    }

    #[test]
    fn corpora_of_the_targets_are_read() {
        replay("side_file", super::side_file);
        replay("checkpoint", super::checkpoint);
        replay("decision", super::decision);
        replay("memory", super::memory);
    }
}
