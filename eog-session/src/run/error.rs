//! Why a run has no result.

use eog::ledger::{ForkError, RestoreError};
use eog::side::RecordError;
use eog_evidence::StartError;

use crate::controllers::OtherController;
use crate::judge::{JudgeError, OpeningError};

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is nothing to start from.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is no policy, or its answers cannot be used.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// It ended before a model had chosen where to start.
    #[error("{0} before the investigation began")]
    NotBegun(Unbegun),
    /// The ledger holds no entry yet.
    #[error("it holds no entry yet, so there is nothing to go on with")]
    Empty,
    /// The source is not the one that the ledger began with.
    #[error("it began with another input: its topology or alerts differ")]
    OtherSource,
    /// The policy is another one than the ledger names.
    #[error("it was judged by {then:?}, but now {now:?} would judge")]
    OtherJudge {
        /// The recorded policy.
        then: String,
        /// The present policy.
        now: String,
    },
    /// Settings of another controller.
    #[error(transparent)]
    OtherController(#[from] OtherController),
    /// The ledger does not follow by the rules of this program.
    #[error(transparent)]
    Restore(Box<RestoreError>),
    /// The ledger cannot be forked there.
    #[error(transparent)]
    Fork(Box<ForkError>),
    /// What is recorded beside the journal cannot be used, or nothing can be recorded.
    #[error(transparent)]
    Recorder(#[from] RecordError),
}

/// Why nothing was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbegun {
    /// It was cancelled.
    #[error("interrupted")]
    Cancelled,
    /// It took too long.
    #[error("time was up")]
    TimeIsUp,
}

impl From<OpeningError> for RunError {
    fn from(error: OpeningError) -> Self {
        match error {
            OpeningError::Start(error) => Self::Start(error),
            OpeningError::Judge(error) => Self::Judge(error),
        }
    }
}

impl From<RestoreError> for RunError {
    fn from(error: RestoreError) -> Self {
        Self::Restore(Box::new(error))
    }
}

impl From<ForkError> for RunError {
    fn from(error: ForkError) -> Self {
        Self::Fork(Box::new(error))
    }
}
