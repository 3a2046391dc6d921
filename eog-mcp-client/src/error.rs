//! What can go wrong with a server, and with a configuration.

use eog_core::Failure;
use eog_core::contract::FailureKind;

/// Why a source could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The configuration cannot be used.
    #[error("{place}: {reason}")]
    Config {
        /// The file, and where in it.
        place: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A server could not be started, or did not answer what the incident is made of.
    #[error("{0}")]
    Server(String),
    /// What the servers returned is no incident.
    #[error("{place}: {reason}")]
    Incident {
        /// The part of the configuration that asked.
        place: String,
        /// What is wrong with the answer.
        reason: String,
    },
}

impl SourceError {
    pub(super) fn config(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Config { place: place.into(), reason: reason.into() }
    }
}

/// Why a call gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallError {
    pub(super) cause: Cause,
    /// The server, what went wrong, and the end of its standard error.
    pub(super) message: String,
}

/// What a failed call says about trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The connection is gone: another one may answer.
    Lost,
    /// No answer in time.
    TimedOut,
    /// An answer that says no, or that is not usable.
    Refused,
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let kind = match error.cause {
            Cause::TimedOut => FailureKind::ContextTimedOut,
            Cause::Lost | Cause::Refused => FailureKind::ContextFailed,
        };
        Self::new(kind, error.message)
    }
}
