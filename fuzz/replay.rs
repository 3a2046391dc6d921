//! Gives the corpus of a fuzz target to what the target calls. The tests of the crates that own the readers
//! include this file.

use std::fs;
use std::path::{Path, PathBuf};

/// Checks each file of `fuzz/seeds/TARGET` and names the one that fails.
///
/// # Panics
/// When there is none, or a check panics.
pub(crate) fn replay(target: &str, check: impl Fn(&[u8])) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().take(2);
    let folder = crates.map(|at| at.join("fuzz/seeds").join(target)).find(|at| at.is_dir());
    let folder = folder.unwrap_or_else(|| panic!("fuzz/seeds/{target} is not there"));
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        println!("{}", file.display());
        check(&fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
    }
}
