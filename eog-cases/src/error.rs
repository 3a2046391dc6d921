//! What can go wrong with cases.

use std::io;
use std::path::{Path, PathBuf};

use eog::EntityId;
use eog_evidence::WeightsError;

/// Why a case or a folder of cases cannot be used. Messages name the file and the reason.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// A file or folder cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no folder of cases.
    #[error("{}: there is no folder of cases", path.display())]
    NoFolder {
        /// Where it was expected.
        path: PathBuf,
    },
    /// Another process is writing in the folder.
    #[error("{}: another process is writing to this folder of cases; try again", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// There is no case of this name.
    #[error("{}: there is no case {name:?}{near}", folder.display())]
    Unknown {
        /// The folder.
        folder: PathBuf,
        /// What was asked for.
        name: String,
        /// Cases of near names, as a question.
        near: String,
    },
    /// There is a case of this name already, with another truth or of another investigation.
    #[error("the case {name} is there already{how}")]
    Taken {
        /// The case.
        name: String,
        /// What differs.
        how: &'static str,
    },
    /// A file of a case is not what was stored.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A name that is no name of a case.
    #[error(
        "{0:?} is no name for a case: letters, digits, '.', '_' and '-', at most {MAX_NAME}, not with a '.' first"
    )]
    Name(String),
    /// A cause that the incident does not have.
    #[error("the incident has no entity {entity}{near}")]
    UnknownCause {
        /// The cause.
        entity: EntityId,
        /// Near names, as a question.
        near: String,
    },
    /// A change that the investigation has not seen.
    #[error("the investigation has no change {change} on record{near}")]
    UnknownChange {
        /// Its id.
        change: String,
        /// Changes of the causes.
        near: String,
    },
    /// The truth says nothing, or contradicts itself.
    #[error(transparent)]
    Truth(#[from] Contradiction),
    /// The cases cannot be a prior.
    #[error(transparent)]
    Prior(#[from] WeightsError),
    /// The ledger cannot be used.
    #[error("{0}")]
    Ledger(String),
    /// An archive of cases cannot be used.
    #[error("{}: {reason}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

/// What is wrong with a truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Contradiction {
    /// It says nothing.
    #[error("neither a cause is given, nor that nothing was wrong")]
    Nothing,
    /// It says both.
    #[error("a cause, and that nothing was wrong, contradict each other")]
    Both,
    /// It says more of a cause that it does not give.
    #[error("a change, or a path that was wrong, needs a cause")]
    NoCause,
}

/// Longest name of a case.
pub(crate) const MAX_NAME: usize = 120;

impl CaseError {
    /// An error of the system about a file.
    pub(crate) fn file(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        |source| Self::File { path, source }
    }

    /// The same about one that is written.
    pub(crate) fn write(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        |source| Self::Write { path, source }
    }
}
