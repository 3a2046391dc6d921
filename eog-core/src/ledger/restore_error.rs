//! Ledgers and checkpoints that lead to no machine.

use std::fmt;

use crate::digest::Digest;

/// A ledger or a checkpoint that does not lead to a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The ledger does not begin with the input of an investigation.
    #[error("the ledger does not begin with the input of an investigation")]
    NotOpened,
    /// The ledger is of another format.
    #[error("the ledger has format {found}, but this program reads format {reads}")]
    UnknownFormat {
        /// The format it names.
        found: u32,
        /// The format that this program reads.
        reads: u32,
    },
    /// An entry is not what follows from the entries before by the rules of this program.
    #[error("entry {seq} does not follow from those before: expected {expected}, found {found}")]
    Differs {
        /// The entry.
        seq: u64,
        /// What follows by the rules.
        expected: String,
        /// What the ledger says.
        found: String,
    },
    /// The checkpoint is of another format.
    #[error(
        "the checkpoint has format {found}, but this program reads format {reads}; \
         restore from the ledger alone"
    )]
    UnknownCheckpoint {
        /// The format it names.
        found: u32,
        /// The format that this program reads.
        reads: u32,
    },
    /// The checkpoint was taken of another ledger, or of one that was longer.
    #[error(
        "the checkpoint was taken after {entries} entries, the last with hash {expected}, but the \
         ledger has {found} there; restore from the ledger alone"
    )]
    OtherLedger {
        /// How many entries the checkpoint stands for.
        entries: u64,
        /// The hash that the last of them had.
        expected: Digest,
        /// What the ledger has in its place.
        found: String,
    },
    /// The checkpoint contradicts itself or its ledger.
    #[error("the checkpoint is damaged: {reason}; restore from the ledger alone")]
    DamagedCheckpoint {
        /// What is wrong with it.
        reason: String,
    },
}

impl RestoreError {
    /// An entry is not what follows.
    pub fn differs(seq: u64, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self::Differs { seq, expected: expected.to_string(), found: found.to_string() }
    }
}

/// A ledger that cannot be forked as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// The ledger is shorter.
    #[error("there is no entry {at} to fork at; the ledger has entries 0 to {last}")]
    NoSuchEntry {
        /// The entry that was asked for.
        at: u64,
        /// The last entry there is.
        last: u64,
    },
    /// The entries before the fork do not follow.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}
