//! Checkpoint files: a state beside a journal, from which to go on without reading all of it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Checkpoints, with_ending};
use crate::durable::{RealDisk, replace};

/// The ending that a checkpoint adds to the name of its journal.
pub(super) const ENDING: &str = ".checkpoint";
/// Its ending while it is written.
pub(super) const TEMPORARY: &str = ".tmp";

/// The largest payload of a checkpoint, in bytes: 1 GiB.
pub const MAX_CHECKPOINT_BYTES: u64 = 1 << 30;

const MAGIC: [u8; 8] = *b"eog-ckpt";
const VERSION: u32 = 1;
const DIGEST_BYTES: usize = 32;
const HEADER_BYTES: usize = MAGIC.len() + size_of::<u32>() + DIGEST_BYTES;

/// A checkpoint that could not be written. The one before, if there was one, is there unless the
/// new one is already. Nothing is lost but time: the journal alone holds everything.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The payload is larger than a checkpoint takes.
    #[error(
        "a checkpoint of {bytes} bytes is larger than the {MAX_CHECKPOINT_BYTES} that {} takes; \
         going on without it is safe, but resuming reads the whole journal",
        path.display()
    )]
    TooLarge {
        /// The checkpoint.
        path: PathBuf,
        /// The size of the payload.
        bytes: u64,
    },
    /// The operating system refused.
    #[error(
        "cannot write the checkpoint {}: {source}; going on without it is safe, but resuming reads \
         the whole journal",
        path.display()
    )]
    NotWritten {
        /// The checkpoint.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// Stores a payload as the checkpoint of a journal, at the journal's path with `.checkpoint`
/// appended, in place of the one before. Whenever this is interrupted, the old or the new one is
/// there, and whole. Only who holds the journal may write its checkpoint.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let journal = folder.path().join("run.journal");
/// assert_eq!(eog::journal::read_checkpoint(&journal), None);
/// eog::journal::write_checkpoint(&journal, b"state")?;
/// assert_eq!(eog::journal::read_checkpoint(&journal).as_deref(), Some(b"state".as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CheckpointError`]; going on without a checkpoint is safe.
pub fn write_checkpoint(journal: impl AsRef<Path>, payload: &[u8]) -> Result<(), CheckpointError> {
    write(with_ending(journal.as_ref(), ENDING), payload, MAX_CHECKPOINT_BYTES)
}

/// The payload of a journal's checkpoint. None if there is none, or anything about it is wrong: it
/// is an acceleration only.
///
/// Whether the payload fits the journal is for the caller to find out.
pub fn read_checkpoint(journal: impl AsRef<Path>) -> Option<Vec<u8>> {
    read(&with_ending(journal.as_ref(), ENDING), MAX_CHECKPOINT_BYTES)
}

/// The checkpoint beside the file of a journal, at the path of the journal.
#[derive(Debug)]
pub(super) struct Beside(pub(super) PathBuf);

impl Checkpoints for Beside {
    fn write(&mut self, payload: &[u8]) -> Result<(), CheckpointError> {
        write_checkpoint(&self.0, payload)
    }

    fn read(&self) -> Option<Vec<u8>> {
        read_checkpoint(&self.0)
    }
}

fn write(path: PathBuf, payload: &[u8], most: u64) -> Result<(), CheckpointError> {
    let bytes = payload.len() as u64;
    if bytes > most {
        return Err(CheckpointError::TooLarge { path, bytes });
    }
    let temporary = with_ending(&path, TEMPORARY);
    replace(&RealDisk, &path, &temporary, &[&header(payload), payload])
        .map_err(|source| CheckpointError::NotWritten { path, source })
}

fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    // Asked before it is opened: opening a pipe would wait for its other end.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let mut found = [0; HEADER_BYTES];
    file.read_exact(&mut found).ok()?;
    let mut payload = Vec::new();
    file.take(most).read_to_end(&mut payload).ok()?;
    (found == header(&payload)).then_some(payload)
}

/// What stands before the payload: what it is, its version and the BLAKE3 digest of the payload.
fn header(payload: &[u8]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let (magic, rest) = header.split_at_mut(MAGIC.len());
    let (version, digest) = rest.split_at_mut(size_of::<u32>());
    magic.copy_from_slice(&MAGIC);
    version.copy_from_slice(&VERSION.to_le_bytes());
    digest.copy_from_slice(blake3::hash(payload).as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_larger_than_the_bound_is_written_or_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        write(path.clone(), &[1; 10], 10).unwrap();
        assert_eq!(read(&path, 10), Some(vec![1; 10]));
        assert_eq!(read(&path, 9), None);
        let error = write(path.clone(), &[2; 11], 10).unwrap_err();
        assert!(matches!(error, CheckpointError::TooLarge { bytes: 11, .. }), "{error}");
        assert_eq!(read(&path, 10), Some(vec![1; 10]), "the old one stays");
    }
}
