//! What can be wrong with the input of an evaluation.

use std::fmt::Display;
use std::path::Path;

use eog_simulate::files::FileError;

/// Why an evaluation could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A file or folder is of no use.
    #[error(transparent)]
    File(#[from] FileError),
    /// There are not as many runs as are to be looked at.
    #[error(
        "k is {k}, but scenario {scenario} has {runs} runs; k must be at least 1 and at most the fewest runs \
         of a scenario"
    )]
    Runs {
        /// How many runs of each scenario are to be looked at.
        k: usize,
        /// The scenario with the fewest runs.
        scenario: String,
        /// How many it has.
        runs: usize,
    },
    /// A setting makes no sense.
    #[error("{reason}")]
    Setting {
        /// Which, why, and what would do.
        reason: String,
    },
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
