//! The file of a journal: opening, locking, reading it through.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use eog_core::{Entry, Ledger, LedgerError};

use super::frame::{self, Frame, Header};
use super::{CutTail, JournalError};

/// A journal that was read through.
pub(super) struct Scan {
    pub(super) ledger: Ledger,
    pub(super) cut: Option<CutTail>,
    /// The bytes to keep; 0 if not even the header is whole.
    pub(super) kept: u64,
}

/// The path, whatever the working directory becomes later.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, JournalError> {
    std::path::absolute(path).map_err(|source| unusable(path, "open", source))
}

pub(super) fn create(path: &Path) -> Result<File, JournalError> {
    File::options().read(true).write(true).create_new(true).open(path).map_err(
        |source| match source.kind() {
            io::ErrorKind::AlreadyExists => JournalError::Exists { path: path.to_owned() },
            _ => unusable(path, "create", source),
        },
    )
}

pub(super) fn open(path: &Path, write: bool) -> Result<File, JournalError> {
    let failed = |source| unusable(path, "open", source);
    // Asked before it is opened: opening a pipe would wait for its other end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(JournalError::NotAFile { path: path.to_owned() });
    }
    File::options().read(true).write(write).open(path).map_err(failed)
}

/// Takes the lock that one writer at a time holds.
pub(super) fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => JournalError::Locked { path: path.to_owned() },
        TryLockError::Error(source) => unusable(path, "lock", source),
    })
}

/// Reads and checks every entry, one at a time.
pub(super) fn scan(file: &File, path: &Path) -> Result<Scan, JournalError> {
    let failed = |source| unusable(path, "read", source);
    let length = file.metadata().map_err(failed)?.len();
    // A writer may add to the file meanwhile; only what was there at the start is read.
    let mut reader = BufReader::new(file).take(length);
    let mut ledger = Ledger::default();
    match frame::read_header(&mut reader, length).map_err(failed)? {
        Header::Known => {}
        Header::Torn => {
            let cut = (length > 0).then_some(CutTail { after: 0, bytes: length });
            return Ok(Scan { ledger, cut, kept: 0 });
        }
        Header::Version(version) => {
            return Err(JournalError::UnknownVersion { path: path.to_owned(), version });
        }
        Header::Foreign => return Err(JournalError::NotAJournal { path: path.to_owned() }),
    }
    let mut kept = frame::HEADER_BYTES;
    loop {
        let after = ledger.next_seq();
        let damaged = |reason: String| JournalError::Damaged {
            path: path.to_owned(),
            entry: after,
            offset: kept,
            reason,
        };
        let left = length.saturating_sub(kept);
        match frame::read_frame(&mut reader, left).map_err(failed)? {
            Frame::End => return Ok(Scan { ledger, cut: None, kept }),
            Frame::Torn => {
                return Ok(Scan { ledger, cut: Some(CutTail { after, bytes: left }), kept });
            }
            Frame::Damaged(reason) => return Err(damaged(reason.to_owned())),
            Frame::Whole(payload) => {
                let entry = entry(&payload).map_err(damaged)?;
                ledger.push(entry).map_err(|error| match error {
                    LedgerError::UnknownFormat { format } => {
                        JournalError::UnknownFormat { path: path.to_owned(), format }
                    }
                    error => damaged(error.to_string()),
                })?;
                kept += frame::FRAME_BYTES + payload.len() as u64;
            }
        }
    }
}

/// Writes the folder that names the file, without which a new file may be gone after a crash.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Elsewhere folders cannot be opened, and the file system looks after them.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether the path still names this file.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(named)) => place(file) == place(named),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

/// Elsewhere an open file keeps its name.
#[cfg(not(unix))]
pub(super) fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

fn entry(payload: &[u8]) -> Result<Entry, String> {
    let entry: Entry = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
    match serde_json::to_vec(&entry) {
        Ok(bytes) if bytes == payload => Ok(entry),
        Ok(_) | Err(_) => Err("it is not written the way a ledger is".to_owned()),
    }
}

fn unusable(path: &Path, operation: &'static str, source: io::Error) -> JournalError {
    JournalError::Unusable { path: path.to_owned(), operation, source }
}
