//! What can go wrong on a cluster.

use std::io;

use crate::InvestigationId;

/// Why something cannot be done on a NATS cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
    /// The name of an investigation or a prefix is not one.
    #[error("{name:?} is not a name: use 1 to 64 ASCII letters, digits, `-` and `_`")]
    BadName {
        /// The name, cut to 80 characters.
        name: String,
    },
    /// No server answers at the address.
    #[error("cannot connect to NATS at {url}: {reason}")]
    Unreachable {
        /// The addresses, without secrets.
        url: String,
        /// What the client says.
        reason: String,
    },
    /// The server wants other credentials.
    #[error("NATS at {url} refuses the credentials: {reason}")]
    Unauthorized {
        /// The addresses, without secrets.
        url: String,
        /// What the client says.
        reason: String,
    },
    /// TLS with the server does not come about.
    #[error("no TLS with NATS at {url}: {reason}")]
    Tls {
        /// The addresses, without secrets.
        url: String,
        /// What the client says.
        reason: String,
    },
    /// A file that TLS or the login needs cannot be used.
    #[error("cannot use {what}: {reason}")]
    Access {
        /// The option or the file.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server, or this account on it, has no JetStream.
    #[error("JetStream is not enabled on the server, or not for this account: {reason}")]
    NoJetStream {
        /// What the server says.
        reason: String,
    },
    /// The stream or a bucket was never made, or was removed.
    #[error("the stream {stream} does not exist on the cluster")]
    StreamMissing {
        /// The stream.
        stream: String,
    },
    /// No majority of the cluster answers, so nothing can be stored.
    #[error(
        "the stream {stream} has no leader, or the cluster does not answer ({reason}); what was \
         acknowledged is safe: bring a majority of its servers back and try again"
    )]
    NoLeader {
        /// The stream.
        stream: String,
        /// What was seen last.
        reason: String,
    },
    /// The stream belongs to another version of eog, or to another application.
    #[error(
        "the stream {stream} says {found:?}, but this program uses {wanted:?}; use the program that \
         made it, or another prefix"
    )]
    OtherVersion {
        /// The stream.
        stream: String,
        /// Its description.
        found: String,
        /// What this program would have called it.
        wanted: &'static str,
    },
    /// The stream keeps less than a ledger needs.
    #[error("the stream {stream} is not fit for ledgers: {reason}")]
    Unfit {
        /// The stream.
        stream: String,
        /// Which setting is wrong.
        reason: String,
    },
    /// An investigation of this name is there already.
    #[error("the investigation {id} exists already; resume it, or choose another name")]
    Exists {
        /// Its name.
        id: InvestigationId,
    },
    /// There is no investigation of this name.
    #[error("there is no investigation {id} on the cluster")]
    NoSuch {
        /// Its name.
        id: InvestigationId,
    },
    /// Another writer has gone on with it since.
    #[error(
        "{name} was taken over by another writer, which goes on with it; nothing of this one is \
         stored any more"
    )]
    TakenOver {
        /// The subject.
        name: String,
    },
    /// It was removed while it was being written.
    #[error("{name} was removed from the cluster while it was being written")]
    Removed {
        /// The subject.
        name: String,
    },
    /// A stored record is not one, does not follow, or its block is gone or altered.
    #[error("{name} is damaged at message {sequence}: {reason}")]
    Damaged {
        /// The subject.
        name: String,
        /// The message, by its sequence in the stream.
        sequence: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Bytes of an investigation are gone, or not those that were stored.
    #[error("the object {digest} of the investigation {id} is gone or was altered")]
    Altered {
        /// The investigation.
        id: InvestigationId,
        /// What the bytes should have as their digest.
        digest: String,
    },
    /// Others change a value all the time.
    #[error("{name} is changed by others all the time; try again when fewer do")]
    Contended {
        /// The subject.
        name: String,
    },
    /// The server refuses to store more.
    #[error("the cluster refuses to store {name}: {reason}")]
    Refused {
        /// The subject or object.
        name: String,
        /// What the server says.
        reason: String,
    },
    /// This one failed before, and what was stored is unknown.
    #[error("{name} takes nothing more after a failed write; open it again to go on")]
    Broken {
        /// The subject.
        name: String,
    },
}

impl From<NatsError> for io::Error {
    fn from(error: NatsError) -> Self {
        let kind = match &error {
            NatsError::Exists { .. } => io::ErrorKind::AlreadyExists,
            NatsError::NoSuch { .. } | NatsError::StreamMissing { .. } => io::ErrorKind::NotFound,
            NatsError::Unauthorized { .. } => io::ErrorKind::PermissionDenied,
            NatsError::NoLeader { .. } | NatsError::Unreachable { .. } => io::ErrorKind::TimedOut,
            NatsError::Damaged { .. } | NatsError::Altered { .. } => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
