//! Exit codes, and the errors that lead to them.

use std::path::PathBuf;

use eog::{JournalError, MemoryError};
use eog_evidence::{BundleError, StartError};
use eog_sre::SnapshotError;
use eog_sre::tools::ToolError;

use crate::report::clean;

/// How the command ends. Documented in `eog investigate --help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// At least one origin that explains an alert was found.
    Diagnosed = 0,
    /// Output could not be written, or not a single evaluation led to a decision.
    Failed = 1,
    /// The command line is wrong. Clap uses the same code.
    BadUsage = 2,
    /// The investigation ended without an origin that explains an alert.
    Inconclusive = 3,
    /// The input cannot be used.
    BadInput = 4,
    /// Ctrl-C, SIGTERM or SIGHUP.
    Interrupted = 130,
}

/// What went wrong, in words for the person at the terminal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("{}: {reason}", path.display())]
    Input { path: PathBuf, reason: String },
    #[error("{0}")]
    Bundle(#[from] BundleError),
    #[error("{0}")]
    Snapshot(#[from] SnapshotError),
    #[error("{}: {source}{}", path.display(), as_notes(warnings))]
    Start { path: PathBuf, source: StartError, warnings: Vec<String> },
    #[error("{0}")]
    Journal(#[from] JournalError),
    #[error("stopped, for the journal takes no more; what it holds is safe: {0}")]
    JournalStopped(JournalError),
    #[error("{0}")]
    Memory(#[from] MemoryError),
    #[error("{0}")]
    Tool(#[from] ToolError),
    #[error("{0}")]
    Usage(String),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot start the runtime: {0}")]
    Runtime(std::io::Error),
}

/// What the readers had to say, below the error that may follow from it.
fn as_notes(warnings: &[String]) -> String {
    warnings.iter().map(|warning| format!("\n  note: {}", clean(warning))).collect()
}

impl CliError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Input { .. }
            | Self::Bundle(_)
            | Self::Snapshot(_)
            | Self::Journal(_)
            | Self::Memory(_)
            | Self::Start { .. } => Exit::BadInput,
            Self::Usage(_) | Self::Tool(_) => Exit::BadUsage,
            Self::Write { .. } | Self::Runtime(_) | Self::JournalStopped(_) => Exit::Failed,
        }
    }
}
