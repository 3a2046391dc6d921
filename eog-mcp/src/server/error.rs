//! What goes wrong: at the start of a server, and in a call.

use std::path::PathBuf;

use eog::EntityId;
use eog::journal::JournalError;
use eog::ledger::RestoreError;
use eog::side::{RecordError, SideError};
use eog_session::run::{RecordsError, RunError, Unbegun};
use eog_session::source::OpenError;
use eog_session::store::StoreError;
use eog_session::travel::ReadError;
use eog_sre::tools::ToolError;

use eog_session::store::InvestigationId;

/// Why a server cannot start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// No root was given.
    #[error("no root folder is given; name at least one")]
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

/// Why a call has no answer, in words for the caller.
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
    #[error("{folder}: the time limit was reached while it was read; give more `seconds`, or none")]
    TimeIsUp { folder: String },
    #[error("{0}")]
    Judge(String),
    #[error(
        "there is no entity {entity} in {id}; similar or evaluated are {}", others.join(", ")
    )]
    NoEntity { id: InvestigationId, entity: EntityId, others: Vec<String> },
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
    /// Why a folder cannot be opened. Clients know it by the name `called`.
    pub(super) fn open(called: &str, error: &OpenError) -> Self {
        if error.is_cancelled() {
            return Self::Cancelled(None);
        }
        let reason = match error {
            OpenError::NeedsNoArchitecture { .. } => {
                "`architecture` goes with a snapshot, but this is a bundle, which holds its own \
                 topology; leave the argument out"
                    .to_owned()
            }
            OpenError::NothingKnown { .. } => {
                "neither a bundle (no bundle.json) nor a snapshot (no alerts, events, objects, \
                 logs, traces or metrics); name the folder of one incident"
                    .to_owned()
            }
            other => other.to_string(),
        };
        Self::Input { folder: called.to_owned(), reason }
    }

    /// Why a run of an investigation has no result.
    pub(super) fn run(id: &InvestigationId, name: &str, error: RunError) -> Self {
        let input = |reason: String| Self::Input { folder: name.to_owned(), reason };
        match error {
            RunError::Start(error) => input(error.to_string()),
            RunError::Judge(error) => Self::Judge(error.to_string()),
            RunError::NotBegun(Unbegun::Cancelled) => Self::Cancelled(Some(id.clone())),
            RunError::NotBegun(Unbegun::TimeIsUp) => Self::NotBegun(id.clone()),
            RunError::Empty => Self::Empty(id.clone()),
            RunError::OtherSource => input(
                "the folder has changed since the investigation began (its topology or alerts \
                 differ); investigate anew"
                    .to_owned(),
            ),
            RunError::OtherJudge { then, now } => Self::OtherJudge { id: id.clone(), then, now },
            RunError::Restore(error) => Self::unusable(id, &error),
            RunError::Recorder(RecordError::NotStored(error)) => Self::Side(error),
            error => Self::Store(format!("{id}: {error}")),
        }
    }

    /// Why a journal cannot be opened.
    pub(super) fn of_journal(id: &InvestigationId, error: JournalError) -> Self {
        match error {
            JournalError::Locked { .. } => Self::StillRuns(id.clone()),
            other => other.into(),
        }
    }

    /// A ledger that does not follow.
    pub(super) fn unusable(id: &InvestigationId, error: &RestoreError) -> Self {
        Self::Store(format!("{id}: its ledger cannot be used: {error}"))
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unknown { id, nearest } => Self::UnknownInvestigation { id, nearest },
            error => Self::Store(error.to_string()),
        }
    }
}

impl From<StoreError> for ServeError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unusable { path, source } => Self::State { path, source },
            StoreError::InRoot { state, root } => Self::StateInRoot { state, root },
            error => Self::Socket(std::io::Error::other(error)),
        }
    }
}

impl From<RecordsError> for Problem {
    fn from(error: RecordsError) -> Self {
        match error {
            RecordsError::Journal(error) => error.into(),
            RecordsError::Side(error) => error.into(),
            error => Self::Store(error.to_string()),
        }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Journal(error) => error.into(),
            error => Self::Store(error.to_string()),
        }
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
