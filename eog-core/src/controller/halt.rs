//! Halts: dispatching stops for a reason that the chain cannot show, and goes on again.

use super::Controller;
use super::dispatch::Discarded;
use crate::budget::BudgetKind;
use crate::controller::entry_body::{EntryBody, HaltCause};

/// Whether dispatching has stopped from outside, and what the chain shows of it.
///
/// A halt matters only if something is committed or observed after a dispatch was withheld. It is
/// recorded right before that, so that a run which is halted and resumed at once has the ledger of
/// one that never was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Halt {
    cause: Option<HaltCause>,
    /// A dispatch was withheld, and the chain does not say so yet.
    withheld: Option<HaltCause>,
    /// What the chain says that holds, if it says so.
    recorded: Option<HaltCause>,
    /// What was discarded had been dispatched before the last entry: dispatched again it sees more.
    discarded_older: bool,
}

impl Halt {
    /// Stops dispatching. A cancellation outranks what stopped it before.
    pub(super) fn begin(&mut self, cause: HaltCause) {
        if self.cause.is_none() || cause == HaltCause::Cancelled {
            self.cause = Some(cause);
        }
    }

    pub(super) fn cause(self) -> Option<HaltCause> {
        self.cause
    }

    /// Records that an entity would have been dispatched.
    pub(super) fn withhold(&mut self, cause: HaltCause) {
        if self.recorded.is_none() {
            self.withheld.get_or_insert(cause);
        }
    }

    /// The halt that the chain shows, if any.
    pub(super) fn recorded(self) -> Option<HaltCause> {
        self.recorded
    }

    /// The halt that a chain has come to.
    pub(super) fn as_recorded(recorded: Option<HaltCause>) -> Self {
        Self { cause: recorded, recorded, ..Self::default() }
    }

    /// Whether the chain does not say yet that evaluations under way were discarded which cannot be
    /// dispatched again as they were.
    pub(super) fn is_beyond_the_chain(self) -> bool {
        self.discarded_older
    }

    /// Records that what was under way was discarded, which a halt before this one does not show.
    pub(super) fn discard(&mut self, discarded: Discarded) {
        if discarded != Discarded::Nothing {
            self.withheld = Some(HaltCause::Cancelled);
            self.discarded_older |= discarded == Discarded::Older;
        }
    }
}

impl Controller {
    /// Records a halt before something follows that it influenced.
    pub(super) fn record_halt(&mut self) -> bool {
        let Some(cause) = self.halt.withheld.take() else { return false };
        self.halt.recorded = Some(cause);
        self.halt.discarded_older = false;
        self.ledger.append(EntryBody::Halted(cause));
        true
    }

    /// Goes on after a halt. One that left no trace is as if it had never been.
    pub(super) fn resume(&mut self) {
        self.ran_out = None;
        if self.halt.discarded_older {
            self.record_halt();
        }
        if self.exhausted_budget().is_some_and(|which| which != BudgetKind::Hops) {
            // What a restore dispatched was not asked yet, and may not be.
            if self.in_flight.iter().all(|slot| !self.was_asked(slot.ticket)) {
                let discarded = self.discard_in_flight();
                self.halt.discard(discarded);
            }
            // It is the budget that stops it now.
            self.halt.cause = None;
            return;
        }
        let recorded = self.halt.recorded.is_some();
        self.halt = Halt::default();
        if recorded {
            self.ledger.append(EntryBody::Resumed);
        }
    }
}
