//! Why an investigation ends.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::budget::BudgetKind;
use crate::ledger::Ledger;
use crate::ledger::body::Body;
use crate::ledger::record::RecordedAnswer;

/// Why an investigation ended. Data, never an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Nothing is active any more.
    Converged {
        /// Activations refused because the entity was damped, had used its visits, or was one
        /// too many.
        refused_wakes: u64,
    },
    /// Nothing is active any more, and the source of contexts is dead: it gave none at all, or none any
    /// more to the last three entities or more that were evaluated. What was not seen may hold the cause.
    SourceUnreachable {
        /// How many of the last evaluations got no context, one after the other.
        failed: u64,
        /// How many evaluations there were in all.
        looks: u64,
    },
    /// A search that accepts results from a score on has nothing left to do, and its best score is lower: it found
    /// no acceptable result.
    SearchExhausted {
        /// The best score, if anything was scored.
        best: Option<u16>,
        /// The score from which a result is accepted.
        accept: u16,
    },
    /// A budget is used up while entities still wait.
    BudgetExhausted {
        /// Which one.
        which: BudgetKind,
    },
    /// Stopped by [`Input::Cancel`](crate::Input::Cancel).
    Cancelled,
    /// Stopped by [`Input::Deadline`](crate::Input::Deadline).
    Deadline,
}

impl StopReason {
    /// Whether nothing is active any more, so that going on would change nothing.
    pub fn is_at_rest(self) -> bool {
        matches!(
            self,
            Self::Converged { .. } | Self::SourceUnreachable { .. } | Self::SearchExhausted { .. }
        )
    }
}

/// A source of contexts that is dead; see [`StopReason::SourceUnreachable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unreachable {
    /// How many of the last evaluations got no context, one after the other.
    pub failed: u64,
    /// How many evaluations there were in all.
    pub looks: u64,
}

/// This many entities without a context in a row are no accident, where others had one.
const DEAD_AFTER: usize = 3;

impl Unreachable {
    /// Whether the source was dead at the end of a ledger.
    pub fn of<B: Body>(ledger: &Ledger<B>) -> Option<Self> {
        let mut latest = ledger.entries().iter().rev().filter_map(|entry| entry.body.look());
        let (mut failed, mut entities) = (0, BTreeSet::new());
        let was_alive = loop {
            match latest.next() {
                None => break false,
                Some(look) => match look.answer {
                    RecordedAnswer::Failed(failure) if failure.kind.is_context() => {
                        failed += 1;
                        entities.insert(look.entity);
                    }
                    _ => break true,
                },
            }
        };
        let is_dead = if was_alive { entities.len() >= DEAD_AFTER } else { failed > 0 };
        let looks = ledger.entries().iter().filter(|entry| entry.body.look().is_some());
        is_dead.then(|| Self { failed, looks: looks.count() as u64 })
    }

    /// Why an investigation of this ledger ends when nothing is active any more.
    pub fn or_converged<B: Body>(ledger: &Ledger<B>, refused_wakes: u64) -> StopReason {
        match Self::of(ledger) {
            Some(Self { failed, looks }) => StopReason::SourceUnreachable { failed, looks },
            None => StopReason::Converged { refused_wakes },
        }
    }
}

/// In a few words, such as `the source is out of reach: no context in the last 4 of 9 evaluations`.
impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, looks } = self;
        if failed == looks {
            return write!(
                f,
                "the source is out of reach: no context in any of {looks} evaluations"
            );
        }
        write!(
            f,
            "the source is out of reach: no context in the last {failed} of {looks} evaluations"
        )
    }
}

/// In a few words, such as `converged` or `stopped: token budget exhausted, entities still waiting`.
impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Converged { refused_wakes: 0 } => f.write_str("converged"),
            Self::Converged { refused_wakes: 1 } => f.write_str("converged, 1 activation refused"),
            Self::Converged { refused_wakes } => {
                write!(f, "converged, {refused_wakes} activations refused")
            }
            Self::SourceUnreachable { failed, looks } => {
                write!(f, "{}", Unreachable { failed: *failed, looks: *looks })
            }
            Self::SearchExhausted { best: Some(best), accept } => {
                write!(f, "search exhausted: the best score is {best}, accepted from {accept} on")
            }
            Self::SearchExhausted { best: None, .. } => {
                f.write_str("search exhausted: nothing could be scored")
            }
            Self::BudgetExhausted { which } => {
                write!(f, "stopped: {which} budget exhausted, entities still waiting")
            }
            Self::Cancelled => f.write_str("interrupted, entities still waiting"),
            Self::Deadline => f.write_str("stopped: deadline reached, entities still waiting"),
        }
    }
}
