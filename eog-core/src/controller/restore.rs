//! Restoring: a controller rebuilt from its ledger, without a single call.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::checkpoint::CHECKPOINT_FORMAT;
use super::dispatch::Stage;
use super::{Controller, InputError, Output, Ticket};
use crate::contract::Usage;
use crate::digest::Digest;
use crate::ledger::{
    Entry, EntryBody, Evaluation, HaltCause, LEDGER_FORMAT, Ledger, Opened, RecordedAnswer,
};
use crate::packet::LocalContext;

/// A ledger or a checkpoint that does not lead to a controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The ledger does not begin with the input of an investigation.
    #[error("the ledger does not begin with the input of an investigation")]
    NotOpened,
    /// The ledger is of another format.
    #[error("the ledger has format {found}, but this program reads format {LEDGER_FORMAT}")]
    UnknownFormat {
        /// The format it names.
        found: u32,
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
        "the checkpoint has format {found}, but this program reads format {CHECKPOINT_FORMAT}; \
         restore from the ledger alone"
    )]
    UnknownCheckpoint {
        /// The format it names.
        found: u32,
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

/// The bodies of the contexts that a ledger holds, by digest.
#[derive(Default)]
pub(super) struct Contexts<'l>(BTreeMap<Digest, &'l LocalContext>);

impl<'l> Contexts<'l> {
    pub(super) fn learn(&mut self, evaluation: &'l Evaluation) {
        if let Some(record) = &evaluation.context
            && let Some(body) = &record.body
        {
            self.0.insert(record.digest, body);
        }
    }

    /// The context of an evaluation, if it had one and its body came with it or before.
    pub(super) fn of(&self, evaluation: &Evaluation) -> Option<&'l LocalContext> {
        self.0.get(&evaluation.context.as_ref()?.digest).copied()
    }
}

impl Controller {
    /// Rebuilds the controller that wrote a ledger. Every entry is derived again from the recorded
    /// contexts, answers and observations, and compared.
    ///
    /// The controller goes on where the ledger ends: evaluations that were under way then are
    /// asked for again. What was used beside the chain (tokens, cost) is not known to a ledger and
    /// begins at zero, and so do [`Input::Cancel`](crate::Input::Cancel) and
    /// [`Input::Deadline`](crate::Input::Deadline).
    ///
    /// # Errors
    /// [`RestoreError`] names the first entry that does not follow, and both values.
    ///
    /// ```
    /// use eog_core::{Case, Config, Controller, EntityId, Seed, Topology, Window};
    /// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
    /// # let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
    /// # case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "alert".into() });
    /// let controller = Controller::new(Config::default(), case);
    /// let restored = Controller::restore(controller.ledger())?;
    /// assert_eq!(restored.ledger(), controller.ledger());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(ledger: &Ledger) -> Result<Self, RestoreError> {
        let (first, rest) = ledger.entries().split_first().ok_or(RestoreError::NotOpened)?;
        let opened = opening(ledger)?;
        let mut empty = Ledger::default();
        empty.expect(first);
        let mut controller = Self::open(opened.config.clone(), opened.case.clone(), empty);
        controller.compare(first)?;
        controller.follow(rest, &mut Contexts::default())?;
        Ok(controller)
    }

    /// Derives recorded entries again, one after the other, and compares. All of them, and those
    /// before, count as stored then.
    pub(super) fn follow<'l>(
        &mut self,
        entries: &'l [Arc<Entry>],
        contexts: &mut Contexts<'l>,
    ) -> Result<(), RestoreError> {
        let mut entries = entries.iter().peekable();
        while let Some(entry) = entries.next() {
            self.ledger.expect(entry);
            match &entry.body {
                EntryBody::Opened(_) => {
                    return Err(differs(entry, "an evaluation or an observation", "an opening"));
                }
                EntryBody::Evaluated(evaluation) => {
                    self.repeat(entry, evaluation, contexts)?;
                }
                EntryBody::Observed(observed) => {
                    let observation = observed.observation.clone();
                    self.observe(observation).map_err(|error| {
                        differs(entry, "an observation that fits", &error.to_string())
                    })?;
                }
                EntryBody::Halted(cause) => self.repeat_halt(entry, *cause)?,
                EntryBody::Resumed => self.resume(),
                EntryBody::Forked(forked) => self.take_course(forked.as_ref().clone()),
            }
            self.advance(entries.peek().copied());
            self.compare(entry)?;
        }
        self.emitted = self.ledger.next_seq();
        self.stored = self.emitted;
        Ok(())
    }

    /// Does what follows from the last entry, as far as the recorded entry after it allows.
    pub(super) fn advance(&mut self, next: Option<&Arc<Entry>>) {
        // A recorded halt withheld dispatches since the entry before it.
        if let Some(EntryBody::Halted(cause)) = next.map(|next| &next.body)
            && *cause != HaltCause::Cancelled
        {
            self.halt.begin(*cause);
        }
        self.commit_ready();
    }

    fn repeat_halt(&mut self, entry: &Entry, cause: HaltCause) -> Result<(), RestoreError> {
        if cause == HaltCause::Cancelled {
            self.cancel();
        }
        let nothing_withheld =
            || differs(entry, "that somebody was left to dispatch", "a halt that kept nobody");
        self.record_halt().then_some(()).ok_or_else(nothing_withheld)
    }

    /// Feeds a recorded evaluation to the slot that is next to be committed.
    fn repeat<'l>(
        &mut self,
        entry: &Entry,
        evaluation: &'l Evaluation,
        contexts: &mut Contexts<'l>,
    ) -> Result<(), RestoreError> {
        let found = format!("an evaluation of {}", evaluation.entity);
        let Some(slot) = self.in_flight.front() else {
            return Err(differs(entry, "no evaluation", &found));
        };
        if slot.activation.entity != evaluation.entity {
            let expected = format!("an evaluation of {}", slot.activation.entity);
            return Err(differs(entry, &expected, &found));
        }
        let ticket = slot.ticket;
        self.take_request(ticket);
        if let Some(record) = &evaluation.context {
            contexts.learn(evaluation);
            let context = contexts.of(evaluation).ok_or_else(|| {
                differs(entry, "a context that was recorded", &record.digest.to_string())
            })?;
            self.take_context(ticket, context.clone()).map_err(|error| unfit(entry, &error))?;
            self.take_request(ticket);
        }
        match &evaluation.answer {
            RecordedAnswer::Decided(decision) => self
                .take_decision(ticket, decision.clone(), Usage::default())
                .map_err(|error| unfit(entry, &error)),
            RecordedAnswer::Failed(failure) => {
                self.take_failure(ticket, failure.clone()).map_err(|error| unfit(entry, &error))
            }
            RecordedAnswer::Remembered { .. } => {
                let answered =
                    self.in_flight.front().is_some_and(|s| matches!(s.stage, Stage::Answered(..)));
                let missing = || differs(entry, "a new question", "an answer from memory");
                answered.then_some(()).ok_or_else(missing)
            }
        }
    }

    /// Takes back the request of a ticket, whose answer is recorded.
    fn take_request(&mut self, ticket: Ticket) {
        self.requests.retain(|(_, request)| match request {
            Output::Fetch { ticket: asked, .. } | Output::Decide { ticket: asked, .. } => {
                *asked != ticket
            }
            Output::Append(_) | Output::Idle | Output::Done(_) => true,
        });
    }

    /// Compares a recorded entry with what was derived in its place.
    fn compare(&self, recorded: &Entry) -> Result<(), RestoreError> {
        let derived = self.ledger.entries().last();
        if derived.is_some_and(|derived| **derived == *recorded) {
            return Ok(());
        }
        let expected = derived.map_or("nothing".to_owned(), |derived| derived.hash.to_string());
        Err(differs(recorded, &format!("hash {expected}"), &format!("hash {}", recorded.hash)))
    }
}

/// The input of the investigation that a ledger records.
pub(super) fn opening(ledger: &Ledger) -> Result<&Opened, RestoreError> {
    let Some(EntryBody::Opened(opened)) = ledger.entries().first().map(|first| &first.body) else {
        return Err(RestoreError::NotOpened);
    };
    if opened.format != LEDGER_FORMAT {
        return Err(RestoreError::UnknownFormat { found: opened.format });
    }
    Ok(opened)
}

fn differs(entry: &Entry, expected: &str, found: &str) -> RestoreError {
    RestoreError::Differs { seq: entry.seq, expected: expected.to_owned(), found: found.to_owned() }
}

fn unfit(entry: &Entry, error: &InputError) -> RestoreError {
    differs(entry, "an answer that fits", &error.to_string())
}
