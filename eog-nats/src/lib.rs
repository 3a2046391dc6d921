//! Journals of eog on NATS JetStream, so that investigations outlive any one machine.
//!
//! A ledger is a sequence with one writer. JetStream keeps such sequences on several machines and appends
//! to one only if it ends where the writer believes that it ends. This crate writes a journal that way:
//! [`StreamMedium`] is a [`Medium`](eog::journal::Medium), so a [`Journal`](eog::Journal) or a
//! [`SideFile`](eog::side::SideFile) on it has the same bytes as in a file. Nothing here decides anything
//! about an investigation, and nothing of it is needed for local use.
//!
//! Beside ledgers, all workers share a memory of decisions ([`Cluster::decisions`]) and what may be spent
//! ([`Cluster::purse`]), and closed cases are kept ([`Cluster::cases`]). [`Retention`] removes what has ended.
//!
//! `docs/many-machines.md` says what is stored where, which process may write when, and what an acknowledged entry
//! means.

mod account;
mod block;
mod cases;
mod cluster;
mod decisions;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod jetstream;
mod layout;
mod medium;
mod names;
mod objects;
mod options;
mod purse;
mod queue;
mod record;
mod register;
mod removal;
mod retention;
mod retry;
mod subject;
mod tail;
mod writer;

pub use account::{Account, Spending};
pub use block::Block;
pub use cluster::Cluster;
pub use decisions::DecisionBucket;
pub use error::NatsError;
pub use jetstream::{CheckpointObject, JetStreamSubject};
pub use layout::FORMAT;
pub use medium::StreamMedium;
pub use names::{InvestigationId, Part};
pub use options::{Access, Options};
pub use purse::SharedPurse;
pub use queue::{Queue, Task};
pub use record::{Body, Record, Replay};
pub use register::{Register, Registered, Saying};
pub use retention::{Investigation, Removed, Retention};
pub use subject::{Place, Refused, Subject, Trouble};
pub use tail::Tail;
