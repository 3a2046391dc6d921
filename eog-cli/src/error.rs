//! Exit codes, and the errors that lead to them.

use std::path::PathBuf;

use eog::{JournalError, MemoryError, RecordError, SideError};
use eog_eval::EvalError;
use eog_evidence::{BundleError, StartError};
use eog_mcp::client::SourceError;
use eog_report::clean::{clean, clean_line};
use eog_sre::SnapshotError;
use eog_sre::tools::ToolError;

/// How the command ends. Documented in `eog investigate --help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// At least one origin that explains an alert was found.
    Diagnosed = 0,
    /// Output could not be written, not a single evaluation led to a decision, or recorded traffic
    /// of models lacks an answer.
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
    #[error("{error}{hint}", error = .0, hint = about_ledgers(.0))]
    Journal(#[from] JournalError),
    #[error("stopped, for the journal takes no more: {error}{}", as_command(onward.as_deref()))]
    JournalStopped { error: Box<JournalError>, onward: Option<String> },
    #[error("{why} before the investigation began{}", as_command(onward.as_deref()))]
    NotBegun { why: &'static str, exit: Exit, onward: Option<String> },
    #[error("{0}")]
    Servers(#[from] SourceError),
    #[error("{0}")]
    Eval(EvalError),
    #[error("{0}")]
    NotRecorded(String),
    #[error("{0}")]
    Unrecorded(RecordError),
    #[error("{0}")]
    Side(#[from] SideError),
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

/// What to do with a file that is no journal.
fn about_ledgers(error: &JournalError) -> &'static str {
    match error {
        JournalError::NotAJournal { .. } => {
            "; a journal is the file that --journal named, while `eog fork` goes on with a ledger, \
             such as ledger.jsonl of --out"
        }
        _ => "",
    }
}

/// The command to type, below what made it necessary.
fn as_command(onward: Option<&str>) -> String {
    onward.map_or_else(String::new, |command| format!("\n  then: {}", clean(command)))
}

impl CliError {
    /// Says on standard error what went wrong.
    pub(crate) fn say(&self) {
        for line in format!("eog: {self}").lines() {
            eprintln!("{}", clean_line(line));
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Input { .. }
            | Self::Bundle(_)
            | Self::Snapshot(_)
            | Self::Journal(_)
            | Self::Side(_)
            | Self::Eval(_)
            | Self::Servers(_)
            | Self::Unrecorded(_)
            | Self::Memory(_)
            | Self::Start { .. } => Exit::BadInput,
            Self::NotBegun { exit, .. } => *exit,
            Self::Usage(_) | Self::Tool(_) => Exit::BadUsage,
            Self::Write { .. }
            | Self::Runtime(_)
            | Self::NotRecorded(_)
            | Self::JournalStopped { .. } => Exit::Failed,
        }
    }
}
