//! What holds of a journal whatever is in it. The fuzz target includes this file.

use std::fs;
use std::path::Path;

use eog::Journal;

/// Reads a journal, then opens it to go on.
///
/// # Panics
/// When reading changes it, or opening finds something else than reading, or leaves something broken.
pub(crate) fn check(path: &Path) {
    let before = fs::read(path).expect("the journal was just written");
    let read = Journal::read(path);
    assert_eq!(fs::read(path).ok(), Some(before), "reading changed the journal");
    // An empty file is no journal yet, and becomes one when it is opened.
    let Ok(read) = read else { return };
    let opened = Journal::open(path).map(|(_, found)| found).expect("it was read a moment ago");
    assert_eq!(opened, read);
    let mended = Journal::read(path).expect("it was opened a moment ago");
    assert_eq!((mended.ledger, mended.cut), (read.ledger, None));
}

/// The same of the bytes of one.
///
/// # Panics
/// As [`check`].
pub(crate) fn check_bytes(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.journal");
    fs::write(&path, bytes).expect("a file in it");
    check(&path);
}
