//! Checkpoint files: the new one, the old one or none, never something else.

use std::fs;
use std::path::{Path, PathBuf};

use eog::journal::{CheckpointError, read_checkpoint, write_checkpoint};

use crate::making::folder;

fn with_ending(journal: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", journal.display()))
}

#[test]
fn the_last_one_written_is_read() {
    let folder = folder();
    let journal = folder.path().join("run.journal");
    assert_eq!(read_checkpoint(&journal), None);
    for payload in [b"".as_slice(), b"one", &[7; 100_000], b"two"] {
        write_checkpoint(&journal, payload).unwrap();
        assert_eq!(read_checkpoint(&journal).as_deref(), Some(payload));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
}

/// The bytes that `docs/embedding.md` describes.
#[test]
fn the_bytes_are_the_documented_ones() {
    let folder = folder();
    let journal = folder.path().join("run.journal");
    write_checkpoint(&journal, b"state").unwrap();
    let digest = blake3::hash(b"state");
    let expected = [b"eog-ckpt\x01\0\0\0".as_slice(), digest.as_bytes(), b"state"].concat();
    assert_eq!(fs::read(with_ending(&journal, ".checkpoint")).unwrap(), expected);
}

/// A crash before the rename leaves any part of the temporary file.
#[test]
fn an_interrupted_write_leaves_the_old_one_and_is_replaced() {
    let folder = folder();
    let journal = folder.path().join("run.journal");
    let temporary = with_ending(&journal, ".checkpoint.tmp");
    for leftover in [b"".as_slice(), b"eog-ckpt\x01", &[0; 200]] {
        let _ = fs::remove_file(with_ending(&journal, ".checkpoint"));
        fs::write(&temporary, leftover).unwrap();
        assert_eq!(read_checkpoint(&journal), None);
        write_checkpoint(&journal, b"old").unwrap();
        fs::write(&temporary, leftover).unwrap();
        assert_eq!(read_checkpoint(&journal).unwrap(), b"old");
        write_checkpoint(&journal, b"new").unwrap();
        assert_eq!(read_checkpoint(&journal).unwrap(), b"new");
        assert!(!temporary.exists());
    }
}

/// A disk that lies about what it stored, or an edited file.
#[test]
fn anything_wrong_is_none() {
    let folder = folder();
    let journal = folder.path().join("run.journal");
    write_checkpoint(&journal, b"some state").unwrap();
    let path = with_ending(&journal, ".checkpoint");
    let bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        assert_eq!(read_checkpoint(&journal), None, "of {length} bytes");
    }
    for (position, bit) in (0..bytes.len()).flat_map(|n| (0..8).map(move |bit| (n, bit))) {
        let mut flipped = bytes.clone();
        flipped[position] ^= 1 << bit;
        fs::write(&path, &flipped).unwrap();
        assert_eq!(read_checkpoint(&journal), None, "bit {bit} of byte {position}");
    }
    fs::write(&path, [bytes.as_slice(), b"\0"].concat()).unwrap();
    assert_eq!(read_checkpoint(&journal), None, "longer");
    fs::write(&path, &bytes).unwrap();
    assert_eq!(read_checkpoint(&journal).unwrap(), b"some state");

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(read_checkpoint(&journal), None, "a folder");
}

#[test]
fn a_place_that_takes_no_file_is_a_harmless_error() {
    let folder = folder();
    let journal = folder.path().join("missing/run.journal");
    let error = write_checkpoint(&journal, b"state").unwrap_err();
    assert!(matches!(error, CheckpointError::NotWritten { .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("run.journal.checkpoint") && said.contains("is safe"), "{said}");
    // What is in the way stays, and so does the old checkpoint.
    let journal = folder.path().join("run.journal");
    write_checkpoint(&journal, b"old").unwrap();
    fs::create_dir(with_ending(&journal, ".checkpoint.tmp")).unwrap();
    write_checkpoint(&journal, b"new").unwrap_err();
    assert_eq!(read_checkpoint(&journal).unwrap(), b"old");
}

/// Also as a user who may write anywhere: the folder is not writable.
#[test]
#[cfg(target_os = "linux")]
fn a_read_only_folder_is_a_harmless_error() {
    for folder in ["/proc", "/sys"] {
        let journal = Path::new(folder).join("run.journal");
        let error = write_checkpoint(&journal, b"state").unwrap_err();
        assert!(matches!(error, CheckpointError::NotWritten { .. }), "{error}");
        assert_eq!(read_checkpoint(&journal), None);
    }
}
