//! What holds of a cassette whatever is in it. The fuzz target includes this file.

use std::fs;

use eog_llm::{Cassette, Masker};

/// Opens a cassette for replay, and for recording.
///
/// # Panics
/// When an error does not name the file, or opening it for recording finds something else or changes whole
/// lines.
pub(crate) fn check(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("traffic.jsonl");
    fs::write(&path, bytes).expect("a file in it");
    let replayed = Cassette::open(&path, Masker::default());
    assert_eq!(fs::read(&path).ok().as_deref(), Some(bytes), "reading changed it");
    match (replayed, Cassette::create(&path, Masker::default())) {
        (Ok(replayed), Ok(recording)) => assert_eq!(replayed.len(), recording.len()),
        (Err(error), Err(_)) => assert!(error.to_string().contains("traffic.jsonl"), "{error}"),
        (replayed, recording) => panic!("{replayed:?} to replay, {recording:?} to record"),
    }
}
