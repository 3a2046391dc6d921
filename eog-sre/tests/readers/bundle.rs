//! What holds of an incident bundle whatever is in its files. The fuzz target includes this file.

use std::fs;
use std::path::Path;

use eog_evidence::{Bundle, open_case};

/// The files of a bundle.
pub(crate) const FILES: [&str; 7] = [
    "bundle.json",
    "alerts.json",
    "changes.json",
    "metrics.csv",
    "events.csv",
    "logs.csv",
    "spans.csv",
];

/// Reads the bundle and begins with what it holds.
///
/// # Panics
/// When an error names no file of it, or a second reading gives something else.
pub(crate) fn check(folder: &Path) {
    match Bundle::read(folder) {
        Ok(bundle) => {
            let again = Bundle::read(folder).expect("it was read a moment ago");
            assert_eq!(format!("{bundle:?}"), format!("{again:?}"));
            let _ = open_case(&bundle.incident(), None);
        }
        Err(error) => {
            let text = error.to_string();
            assert!(FILES.iter().any(|file| text.contains(file)), "{text}");
        }
    }
}

/// The same of files one after the other, a zero byte between.
///
/// # Panics
/// As [`check`].
pub(crate) fn check_bytes(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, content) in FILES.iter().zip(bytes.split(|byte| *byte == 0)) {
        fs::write(folder.path().join(name), content).expect("a file in it");
    }
    check(folder.path());
}
