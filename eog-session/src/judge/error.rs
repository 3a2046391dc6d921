//! Why there is nobody who judges.

use std::path::PathBuf;

use eog::memory::MemoryError;
use eog_evidence::StartError;

/// Why there is nobody who judges, or what was said cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// What was chosen cannot be had: options, variables and settings do not fit.
    #[error("{0}")]
    Choice(String),
    /// A file with settings cannot be used.
    #[error("{}: {reason}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Recorded traffic lacks an answer, or a key was refused: the result says nothing of the models.
    #[error("{0}")]
    Unusable(String),
    /// What decides the answers of a program cannot be read.
    #[error(transparent)]
    Identity(#[from] MemoryError),
}

/// Why nobody could choose where to start.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// There is nothing to start from.
    #[error(transparent)]
    Start(#[from] StartError),
    /// What was judged cannot be used.
    #[error(transparent)]
    Judge(#[from] JudgeError),
}
