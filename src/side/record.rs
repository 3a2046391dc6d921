//! The lines of a side file.

use eog_core::{Digest, EntityId, Spent, StopReason, Timestamp, Usage};
use serde::{Deserialize, Serialize};

use super::FORMAT;

/// One line of a [`SideFile`](crate::side::SideFile). Nothing in it decides a result.
///
/// ```
/// use eog::side::{RunStart, SideRecord};
/// let record = SideRecord::Run {
///     at: "2026-01-01T10:00:00Z".parse()?,
///     what: RunStart::Began,
///     entries: 0,
/// };
/// let line = serde_json::to_string(&record)?;
/// assert_eq!(line, r#"{"run":{"at":"2026-01-01T10:00:00Z","what":"began","entries":0}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum SideRecord {
    /// A process took the investigation up. The records after it, up to the next, are of this run.
    Run {
        /// When.
        at: Timestamp,
        /// How.
        what: RunStart,
        /// How many entries the journal held then.
        entries: u64,
    },
    /// What one evaluation took and cost.
    Evaluation {
        /// The number of its entry in the ledger.
        entry: u64,
        /// The entity it was about.
        entity: EntityId,
        /// The fetch of its local context, if there was one in this run.
        context: Option<CallFigures>,
        /// The call of its policy, if there was one in this run.
        policy: Option<CallFigures>,
        /// What both cost together, with the attempts that failed.
        usage: Usage,
        /// The model that answered, if one did and said its name.
        model: Option<String>,
        /// Whether decision memory answered in place of the policy.
        remembered: bool,
    },
    /// The answer of a call outside the loop. A resumed run takes it from here.
    Outside {
        /// What was asked: the digest of name and content.
        key: Digest,
        /// What kind of call it was.
        name: String,
        /// Its outcome.
        answer: serde_json::Value,
        /// What it cost.
        usage: Usage,
        /// How long it took, in microseconds.
        took_us: u64,
        /// When it began.
        at: Timestamp,
    },
    /// Calls whose answers were never used: early ones whose packet changed, outside calls that
    /// failed, and evaluations that a cancellation discarded.
    Wasted {
        /// How many.
        calls: u64,
        /// What they cost.
        usage: Usage,
    },
    /// The run ended by itself; a killed one has no such line.
    Stopped {
        /// When.
        at: Timestamp,
        /// How many entries the journal held then.
        entries: u64,
        /// Why, with what is no part of the chain: that it was cancelled or out of time.
        reason: StopReason,
        /// How long this run took, in milliseconds.
        wall_ms: u64,
        /// What the whole investigation had used, earlier runs included.
        spent: Spent,
    },
}

/// How a run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStart {
    /// With a new journal.
    Began,
    /// Where an interrupted run had ended.
    Resumed,
    /// From an earlier entry of another journal.
    Forked,
}

/// What one call took, with all its attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallFigures {
    /// When it began: milliseconds since the run did.
    pub started_ms: u64,
    /// How long it took with all attempts and the waits between them, in microseconds.
    pub took_us: u64,
    /// How often it was tried; more than once after failures that pass.
    pub attempts: u32,
    /// Whether it was asked before its turn.
    pub early: bool,
    /// Why each attempt before the last failed.
    pub failures: Vec<String>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    holds: Holds,
}

#[derive(Serialize, Deserialize)]
enum Holds {
    #[serde(rename = "eog side records")]
    SideRecords,
}

/// What a first line of any version says at least.
#[derive(Deserialize)]
struct AnyHeader {
    format: u32,
}

/// What the first line says.
pub(super) enum FirstLine {
    /// Records of this version follow.
    Known,
    /// Records of another version follow.
    Format(u32),
    /// This is something else.
    Foreign,
}

/// The first line of a new side file.
pub(super) fn header() -> Vec<u8> {
    let header = Header { format: FORMAT, holds: Holds::SideRecords };
    let mut line = serde_json::to_vec(&header).unwrap_or_else(|error| unreachable!("{error}"));
    line.push(b'\n');
    line
}

pub(super) fn read_header(line: &[u8]) -> FirstLine {
    match serde_json::from_slice::<AnyHeader>(line) {
        Ok(AnyHeader { format }) if format != FORMAT => FirstLine::Format(format),
        Ok(_) if serde_json::from_slice::<Header>(line).is_ok() => FirstLine::Known,
        Ok(_) | Err(_) => FirstLine::Foreign,
    }
}
