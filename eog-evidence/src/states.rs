//! States of objects over time: what worked when, and at the end.

use std::fmt;

use eog_core::{EntityId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an object is in.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ObjectState {
    /// It does what it is for.
    Ready,
    /// It is on its way there: it starts, or waits for its turn.
    Pending,
    /// It does not do what it is for.
    Failing,
    /// It ran to its end, or is not meant to run.
    Done,
    /// It is no more.
    Gone,
}

impl ObjectState {
    /// Whether nothing is to be mended.
    pub fn is_well(self) -> bool {
        matches!(self, Self::Ready | Self::Done)
    }
}

impl fmt::Display for ObjectState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ready => "ready",
            Self::Pending => "pending",
            Self::Failing => "failing",
            Self::Done => "done",
            Self::Gone => "gone",
        })
    }
}

/// That an object was in a state at a time. It stays so until the next record of the object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateRecord {
    /// When it was seen so, or since when it was.
    pub time: Timestamp,
    /// The object.
    pub entity: EntityId,
    /// Its state.
    pub state: ObjectState,
    /// Why, such as `CrashLoopBackOff`; empty where nothing says so.
    pub reason: String,
}

/// The records of one object, by time.
#[derive(Clone, Copy, Debug)]
pub struct StateHistory<'a>(&'a [StateRecord]);

impl<'a> StateHistory<'a> {
    /// A history from records of one object, by time.
    pub fn new(records: &'a [StateRecord]) -> Self {
        Self(records)
    }

    /// The records.
    pub fn records(self) -> &'a [StateRecord] {
        self.0
    }

    /// The last record up to a time.
    pub fn at(self, time: Timestamp) -> Option<&'a StateRecord> {
        self.0.iter().rev().find(|record| record.time <= time)
    }

    /// Since when it has been well without a break up to a time; nothing if it is not well then, or nothing was recorded
    /// until then.
    ///
    /// ```
    /// use eog_core::EntityId;
    /// use eog_evidence::{ObjectState, StateHistory, StateRecord};
    /// let record = |time: &str, state| StateRecord {
    ///     time: time.parse().unwrap(),
    ///     entity: EntityId::new("cart").unwrap(),
    ///     state,
    ///     reason: String::new(),
    /// };
    /// let all = [
    ///     record("2026-01-01T10:00:00Z", ObjectState::Failing),
    ///     record("2026-01-01T10:05:00Z", ObjectState::Ready),
    ///     record("2026-01-01T10:30:00Z", ObjectState::Ready),
    /// ];
    /// let healed = StateHistory::new(&all).well_since("2026-01-01T11:00:00Z".parse()?);
    /// assert_eq!(healed, Some(all[1].time));
    /// assert_eq!(StateHistory::new(&all).well_since("2026-01-01T10:01:00Z".parse()?), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn well_since(self, time: Timestamp) -> Option<Timestamp> {
        let until = self.0.iter().rev().skip_while(|record| record.time > time);
        until.take_while(|record| record.state.is_well()).last().map(|record| record.time)
    }
}
