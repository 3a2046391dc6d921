//! What the medium asks of a stream: one subject of it, and a place for blocks.

use std::fmt;
use std::path::Path;

use crate::{Block, NatsError, Record};

/// One subject of a stream, on which records stand in the order of their sequences.
///
/// JetStream, unless a test needs a cluster that fails on command. Every call is one attempt.
pub trait Subject: fmt::Debug + Send + Sync {
    /// What errors call it.
    fn path(&self) -> &Path;

    /// Stores a record, if the last one of the subject has this sequence; 0 stands for none. Returns once a
    /// majority of the replicas has it.
    ///
    /// Not every server keeps to the condition when several publish at once, so it only keeps the subject
    /// short: who may write is decided by [`Record::after`].
    ///
    /// # Errors
    /// [`Refused`]. After [`Refused::Unknown`] the record may be stored, or be stored later.
    fn publish(&self, last: u64, record: &Record) -> Result<(), Refused>;

    /// The last record of the subject. It may be that of a moment ago.
    ///
    /// # Errors
    /// [`Trouble`].
    fn last(&self) -> Result<Option<Place>, Trouble>;

    /// The first record after this sequence. There may be one that cannot be read yet, but never one between
    /// two that can.
    ///
    /// # Errors
    /// [`Trouble`].
    fn next(&self, sequence: u64) -> Result<Option<Place>, Trouble>;

    /// All records of the subject up to this sequence, in order.
    ///
    /// # Errors
    /// [`Trouble`], also where the last of them is not among those that can be read yet.
    fn records(&self, until: u64) -> Result<Vec<(u64, Record)>, Trouble>;

    /// Stores a block, unless it is there.
    ///
    /// # Errors
    /// [`Trouble`].
    fn put(&self, block: Block, bytes: &[u8]) -> Result<(), Trouble>;

    /// The bytes of a block. Whether they are those is for the caller to check.
    ///
    /// # Errors
    /// [`Trouble`].
    fn get(&self, block: Block) -> Result<Vec<u8>, Trouble>;

    /// Waits before the next attempt, this one having been the `attempt`th from 0. False when there shall
    /// be none.
    fn wait(&self, attempt: u32) -> bool;

    /// Why attempts fail, asked when there are no more.
    fn diagnose(&self, last: Trouble) -> NatsError;
}

/// A record, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its sequence in the stream.
    pub sequence: u64,
    /// What it says.
    pub record: Record,
}

/// Why a record was not acknowledged.
#[derive(Debug)]
pub enum Refused {
    /// Another record is the last: one of another writer, or of an attempt before.
    OutOfTurn,
    /// Whether it is stored is unknown.
    Unknown(Trouble),
    /// It is not stored, and another attempt would not change that.
    Never(NatsError),
}

/// Why an attempt failed that may succeed later.
#[derive(Debug)]
pub enum Trouble {
    /// What was seen, in words.
    Passing(String),
    /// Another attempt would not change it.
    Lasting(NatsError),
}
