//! What goes back and forth between a machine and the caller that drives it.

use std::sync::Arc;

use crate::budget::Usage;
use crate::contract::Failure;
use crate::contract::packet::{Decision, LocalContext};
use crate::controller::entry_body::EntryBody;
use crate::ids::EntityId;
use crate::ledger::Entry;
use crate::ledger::record::Observation;
use crate::machine::inquiry::{Inquiry, Reply};
use crate::stop::StopReason;

/// What a machine wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Output<B = EntryBody, Q = Inquiry> {
    /// Store this entry, then say [`Input::Appended`]. Nothing that follows from it is released
    /// before.
    Append(Arc<Entry<B>>),
    /// Ask this question, then say [`Input::Answer`] or [`Input::Failed`].
    Ask {
        /// To be given back with the answer.
        ticket: Ticket,
        /// What to ask.
        question: Q,
    },
    /// Nothing to do until an input comes.
    Idle,
    /// The investigation has ended. An observation can re-open it.
    Done(StopReason),
}

/// What a machine receives.
#[derive(Clone, Debug, PartialEq)]
pub enum Input<A = Reply> {
    /// The entry of this number is stored.
    Appended(u64),
    /// An answer has come, and this is what it cost.
    Answer(Ticket, A, Usage),
    /// A call failed.
    Failed(Ticket, Failure),
    /// The world went on. Takes effect between two commits.
    Observe(Observation),
    /// Stop now: what is under way is discarded, and asked again when the investigation goes on.
    Cancel,
    /// Time is up: nothing more is dispatched, what is under way is committed.
    Deadline,
    /// This was spent outside the loop. Counts against the budgets of tokens and money, never
    /// against hops.
    Spent(Usage),
    /// Go on after a cancellation, a deadline or a restore.
    Resume,
}

impl Input {
    /// A local context has come.
    pub fn context(ticket: Ticket, context: LocalContext) -> Self {
        Self::Answer(ticket, Reply::Context(context), Usage::default())
    }

    /// A decision has come, and this is what it cost.
    pub fn decision(ticket: Ticket, decision: Decision, usage: Usage) -> Self {
        Self::Answer(ticket, Reply::Decision(decision), usage)
    }
}

/// Names one question while it is open. Never part of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

impl Ticket {
    /// The ticket of this number; a machine gives each number once.
    pub fn new(number: u64) -> Self {
        Self(number)
    }
}

/// An input that does not fit the machine's state. The state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Nothing under way has this ticket: it was answered already, or discarded.
    #[error("no question under way has ticket {0:?}; was it answered already, or cancelled?")]
    UnknownTicket(Ticket),
    /// The question waits for something else.
    #[error("the evaluation of {entity} is not waiting for a {given}")]
    NotExpected {
        /// What the question is about.
        entity: EntityId,
        /// What was given.
        given: &'static str,
    },
    /// Entries are acknowledged in order, after they were handed out.
    #[error("entry {given} was acknowledged, but entry {expected} is next")]
    NotNext {
        /// The entry that is next.
        expected: u64,
        /// The entry that was given.
        given: u64,
    },
    /// A removed edge was never declared, or is removed already.
    #[error("there is no edge \"{0}\" to remove")]
    NoSuchEdge(String),
    /// This machine takes no observations while it runs.
    #[error("the controller {machine:?} takes no observations; start a new investigation")]
    TakesNoObservations {
        /// [`Machine::NAME`](crate::Machine::NAME).
        machine: &'static str,
    },
}
