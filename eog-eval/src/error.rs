//! What can be wrong with the input of an evaluation.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use eog_simulate::files::FileError;

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A file or folder cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// There are fewer runs than k.
    #[error(
        "k is {k}, but scenario {scenario} has {runs} runs; k must be between 1 and the smallest number of \
         runs of any scenario"
    )]
    Runs {
        /// The number of runs that Pass@k and Majority@k are computed from.
        k: usize,
        /// The scenario with the fewest runs.
        scenario: String,
        /// How many it has.
        runs: usize,
    },
    /// A ledger could not be kept.
    #[error("cannot write {}: {reason}", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A setting is not valid.
    #[error("{reason}")]
    Setting {
        /// Which one, why, and what would be valid.
        reason: String,
    },
    /// It was stopped before anything was scored.
    #[error("stopped before the first case was scored")]
    Stopped,
    /// A case could not be investigated.
    #[error("{case}: {reason}")]
    Case {
        /// The case.
        case: String,
        /// Why not.
        reason: String,
    },
}

impl EvalError {
    pub(crate) fn file(path: &Path, reason: impl Display) -> Self {
        FileError::unusable(path, reason).into()
    }

    pub(crate) fn malformed(path: &Path, place: impl Display, reason: impl Display) -> Self {
        FileError::malformed(path, place, reason).into()
    }
}
