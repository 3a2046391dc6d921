//! What can go wrong with a side file.

use std::io;
use std::path::{Path, PathBuf};

use super::{FORMAT, MAX_SIDE_LINE_BYTES};
use crate::journal::file::{FileError, Refusal};

/// A side file that cannot be opened, read or written. The journal is whole whatever this says.
///
/// ```
/// use eog::side::{SideError, SideFile};
/// let error = SideFile::beside("no-such-folder/run.journal").expect_err("there is none");
/// assert!(matches!(error, SideError::Unusable { .. }));
/// assert!(error.to_string().starts_with("cannot create the side file "));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SideError {
    /// The path names a folder, a device or the like.
    #[error("{} is not a regular file; move away what is there", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot {operation} the side file {}: {source}", path.display())]
    Unusable {
        /// The side file.
        path: PathBuf,
        /// What was tried: `create`, `open`, `lock`, `read`, `prepare`, `write`.
        operation: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Another writer has the side file open.
    #[error(
        "the side file {} is being written by another process; wait until it is done, or stop \
         it",
        path.display()
    )]
    Locked {
        /// The side file.
        path: PathBuf,
    },
    /// The first line is not that of a side file.
    #[error(
        "{} is not a side file: its first line does not say so; move it away, and a new one is \
         begun",
        path.display()
    )]
    NotASideFile {
        /// The file.
        path: PathBuf,
    },
    /// The side file is of a format that this program does not know.
    #[error(
        "the side file {} has format {format}, but this program reads format {FORMAT}; use the \
         program that wrote it, or move the file away: only figures and the answers of outside \
         calls are in it",
        path.display()
    )]
    UnknownFormat {
        /// The side file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// A line is no record. Nothing was cut off or skipped.
    #[error(
        "line {line} of the side file {} cannot be used: {reason}; remove that line, or remove the \
         file: only figures and the answers of outside calls are lost, which are asked again",
        path.display()
    )]
    Damaged {
        /// The side file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A record is longer than a side file takes. Nothing of the group was written.
    #[error(
        "a record has {bytes} bytes, more than the {MAX_SIDE_LINE_BYTES} that a line of the side \
         file {} takes; let the outside call answer with less",
        path.display()
    )]
    TooLong {
        /// The side file.
        path: PathBuf,
        /// The length of its line.
        bytes: u64,
    },
    /// Records could not be stored. Those before are safe as far as they were synced.
    #[error(
        "cannot write to the side file {}: {source}; fix the cause and resume",
        path.display()
    )]
    NotWritten {
        /// The side file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The file was removed, moved or replaced while it was open.
    #[error(
        "the side file {} was removed, moved or replaced while it was being written; nothing more \
         is stored: put it back and resume",
        path.display()
    )]
    Vanished {
        /// Where it was.
        path: PathBuf,
    },
    /// An earlier write failed, and the side file takes no more.
    #[error(
        "the side file {} takes nothing more after a failed write; fix the cause and resume",
        path.display()
    )]
    Poisoned {
        /// The side file.
        path: PathBuf,
    },
}

impl SideError {
    pub(super) fn unusable(path: &Path, operation: &'static str, source: io::Error) -> Self {
        Self::Unusable { path: path.to_owned(), operation, source }
    }
}

impl From<FileError> for SideError {
    fn from(FileError { path, why }: FileError) -> Self {
        match why {
            Refusal::NotAFile => Self::NotAFile { path },
            Refusal::Locked => Self::Locked { path },
            Refusal::System { operation, source } => Self::Unusable { path, operation, source },
            // Creating a side file opens one that exists already.
            Refusal::Exists => {
                let source = io::ErrorKind::AlreadyExists.into();
                Self::Unusable { path, operation: "create", source }
            }
        }
    }
}
