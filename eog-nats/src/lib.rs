//! Journals of eog on NATS JetStream, so that investigations outlive any one machine.
//!
//! A ledger is a sequence with one writer. JetStream keeps such sequences on several machines and appends
//! to one only if it ends where the writer believes that it ends. This crate writes a journal that way:
//! [`StreamMedium`] is a [`Medium`](eog::journal::Medium), so a [`Journal`](eog::Journal) or a
//! [`SideFile`](eog::side::SideFile) on it has the same bytes as in a file. Nothing here decides anything
//! about an investigation, and nothing of it is needed for local use.
//!
//! `docs/many-machines.md` says what is stored where, who may write when, and what an acknowledged entry
//! means.

mod block;
mod cluster;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod jetstream;
mod medium;
mod names;
mod options;
mod queue;
mod record;
mod subject;
mod writer;

pub use block::Block;
pub use cluster::{Cluster, FORMAT};
pub use error::NatsError;
pub use jetstream::{CheckpointObject, JetStreamSubject};
pub use medium::StreamMedium;
pub use names::{InvestigationId, Part};
pub use options::{Access, Options};
pub use queue::{Queue, Task};
pub use record::{Record, Replay};
pub use subject::{Place, Refused, Subject, Trouble};
