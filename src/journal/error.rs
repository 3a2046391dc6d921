//! Errors of a journal.

use std::io;
use std::path::{Path, PathBuf};

use eog_core::controller::LEDGER_FORMAT;
use eog_core::ledger::LedgerError;

use super::MAX_ENTRY_BYTES;
use super::file::{FileError, Refusal};
use super::frame::VERSION;

/// A journal that cannot be created, opened, read or written.
///
/// ```
/// use eog::Journal;
/// use eog::journal::JournalError;
/// let error = Journal::open("no-such-folder/run.journal").expect_err("there is none");
/// assert!(matches!(error, JournalError::Unusable { .. }));
/// assert!(error.to_string().starts_with("cannot open the journal "));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// A new journal was to replace something.
    #[error("{} exists already; resume what it holds, or choose another path", path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The path names a folder, a device or the like.
    #[error("{} is not a regular file; name the file of a journal", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot {operation} the journal {}: {source}", path.display())]
    Unusable {
        /// The journal.
        path: PathBuf,
        /// The operation: `create`, `open`, `lock`, `read`, `repair`.
        operation: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Another writer has the journal open.
    #[error(
        "the journal {} is being written by another process; wait until it is done, or stop it",
        path.display()
    )]
    Locked {
        /// The journal.
        path: PathBuf,
    },
    /// The file does not begin the way a journal does.
    #[error("{} is not a journal: it does not begin the way a journal does", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// The journal is of a version that this program does not know.
    #[error(
        "the journal {} has version {version}, but this program reads version {VERSION}; use the \
         program that wrote it",
        path.display()
    )]
    UnknownVersion {
        /// The journal.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The ledger in the journal is of a format that this program does not know.
    #[error(
        "the ledger in {} has format {format}, but this program reads format {LEDGER_FORMAT}; use \
         the program that wrote it",
        path.display()
    )]
    UnknownFormat {
        /// The journal.
        path: PathBuf,
        /// The format of its ledger.
        format: u32,
    },
    /// The journal was changed after it had been written. Nothing was cut off or skipped.
    #[error(
        "the journal {} is damaged at entry {entry}, byte {offset}: {reason}; restore it from a \
         copy, or keep this file aside and go on from a copy cut to {offset} bytes, which holds \
         every entry before",
        path.display()
    )]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The first damaged entry, counted from 0.
        entry: u64,
        /// The offset of its frame, in bytes from the start of the file.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// An entry is larger than a journal takes. Nothing of the group was written.
    #[error(
        "entry {entry} has {bytes} bytes, more than the {MAX_ENTRY_BYTES} that the journal {} \
         takes; investigate less at once",
        path.display()
    )]
    TooLarge {
        /// The journal.
        path: PathBuf,
        /// The entry.
        entry: u64,
        /// Its size.
        bytes: u64,
    },
    /// An entry is not what follows the last one. Nothing of the group was written.
    #[error("the journal {} does not take the entry: {source}", path.display())]
    NotNext {
        /// The journal.
        path: PathBuf,
        /// Why not.
        source: LedgerError,
    },
    /// Entries could not be stored. Those acknowledged before are safe.
    #[error(
        "cannot write to the journal {}: {source}; its first {entries} entries are safe: fix the \
         cause and resume from it",
        path.display()
    )]
    NotWritten {
        /// The journal.
        path: PathBuf,
        /// How many entries are acknowledged.
        entries: u64,
        /// Why it failed.
        source: io::Error,
    },
    /// The file was removed, moved or replaced while it was open.
    #[error(
        "the journal {} was removed, moved or replaced while it was being written; nothing more is \
         stored: put it back and resume from it",
        path.display()
    )]
    Vanished {
        /// Where it was.
        path: PathBuf,
    },
    /// An earlier write failed, and the journal takes no more.
    #[error(
        "the journal {} takes nothing more after a failed write; its first {entries} entries were \
         acknowledged: fix the cause and resume from it",
        path.display()
    )]
    Poisoned {
        /// The journal.
        path: PathBuf,
        /// How many entries are acknowledged.
        entries: u64,
    },
}

impl JournalError {
    pub(super) fn unusable(path: &Path, operation: &'static str, source: io::Error) -> Self {
        Self::Unusable { path: path.to_owned(), operation, source }
    }
}

impl From<FileError> for JournalError {
    fn from(FileError { path, why }: FileError) -> Self {
        match why {
            Refusal::Exists => Self::Exists { path },
            Refusal::NotAFile => Self::NotAFile { path },
            Refusal::Locked => Self::Locked { path },
            Refusal::System { operation, source } => Self::Unusable { path, operation, source },
        }
    }
}
