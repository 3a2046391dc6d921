//! What goes wrong: at the start of a server, and in a call.

use std::path::PathBuf;

use eog::{EntityId, JournalError, SideError};
use eog_evidence::{BundleError, StartError};
use eog_sre::SnapshotError;
use eog_sre::tools::ToolError;

use super::id::InvestigationId;

/// Why a server cannot start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// No root was given.
    #[error("no root folder is given; name at least one with --root")]
    NoRoot,
    /// A root cannot be used.
    #[error("the root {} cannot be used: {reason}; name an existing folder", path.display())]
    Root {
        /// The root.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The state folder cannot be used.
    #[error("cannot store investigations in {}: {source}; name a writable folder",
            path.display())]
    State {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The state folder lies below a root.
    #[error("the state folder {} is inside the root {}, where clients could read the investigations of \
             others; name a folder outside every root", state.display(), root.display())]
    StateInRoot {
        /// The state folder.
        state: PathBuf,
        /// The root.
        root: PathBuf,
    },
    /// An address that others can reach, without what must protect it.
    #[error("other machines can reach {address}: {}", missing.join("; "))]
    Unprotected {
        /// The address.
        address: std::net::SocketAddr,
        /// All that is missing, and how to give it.
        missing: Vec<&'static str>,
    },
    /// A token that is not safe or cannot be sent.
    #[error("the token cannot be used: {0}")]
    Token(&'static str),
    /// The client on standard input did not speak MCP.
    #[error("the client did not start with an MCP handshake: {0}")]
    Handshake(String),
    /// The socket cannot be used.
    #[error("cannot serve: {0}")]
    Socket(#[from] std::io::Error),
}

/// Why a call has no answer, in words for whoever called.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// Each with its name and what would be right.
    #[error("invalid arguments for {tool}:{}", as_list(wrong))]
    Arguments { tool: String, wrong: Vec<String> },
    #[error("{0}")]
    Path(String),
    #[error("{folder}: {reason}")]
    Input { folder: String, reason: String },
    #[error("there is no investigation {id:?}{}", near(.nearest))]
    UnknownInvestigation { id: String, nearest: Vec<String> },
    #[error("{0} is running; wait until it ends, or cancel the call that runs it")]
    StillRuns(InvestigationId),
    #[error("{0} was interrupted before its first step was stored; `resume` starts it")]
    Empty(InvestigationId),
    #[error(
        "the time limit was reached before {0} could choose where to start; `resume` continues it"
    )]
    NotBegun(InvestigationId),
    #[error("{0}")]
    Judge(String),
    #[error(
        "{entity} was not evaluated in {id}; evaluated entities include {}", others.join(", ")
    )]
    NeverEvaluated { id: InvestigationId, entity: EntityId, others: Vec<String> },
    #[error(
        "{id} was judged by the policy {then:?}, but this server uses {now:?}; start a server with the \
         policy of the investigation"
    )]
    OtherJudge { id: InvestigationId, then: String, now: String },
    #[error(
        "{0} investigations are waiting already; try again when some have ended (see list_investigations)"
    )]
    Busy(usize),
    #[error("cancelled{}", .0.as_ref().map_or_else(String::new, |id| {
        format!("; what {id} found so far is stored, and `resume` continues it")
    }))]
    Cancelled(Option<InvestigationId>),
    #[error("the server is shutting down; call again when it is back")]
    GoingDown,
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Side(#[from] SideError),
    #[error("{0}")]
    Store(String),
}

impl Problem {
    pub(super) fn bundle(folder: &str, error: &BundleError) -> Self {
        Self::Input { folder: folder.to_owned(), reason: error.to_string() }
    }

    pub(super) fn start(folder: &str, error: &StartError) -> Self {
        Self::Input { folder: folder.to_owned(), reason: error.to_string() }
    }

    pub(super) fn snapshot(folder: &str, error: &SnapshotError) -> Self {
        let reason = match error {
            SnapshotError::NothingKnown { .. } => {
                "neither a bundle (no bundle.json) nor a snapshot (no alerts, events, objects, \
                 logs, traces or metrics); name the folder of one incident"
                    .to_owned()
            }
            other => other.to_string(),
        };
        Self::Input { folder: folder.to_owned(), reason }
    }
}

fn as_list(wrong: &[String]) -> String {
    match wrong {
        [one] => format!(" {one}"),
        many => many.iter().map(|one| format!("\n- {one}")).collect(),
    }
}

fn near(nearest: &[String]) -> String {
    match nearest {
        [] => "; there are none yet, call investigate".to_owned(),
        some => format!("; the latest are {} (list_investigations lists all)", some.join(", ")),
    }
}
