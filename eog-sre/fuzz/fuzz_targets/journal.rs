//! A journal.
#![no_main]

#[path = "../../tests/readers/journal.rs"]
mod journal;

use std::fs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.journal");
    fs::write(&path, bytes).expect("a file in it");
    journal::check(&path);
});
