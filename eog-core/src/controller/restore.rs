//! Restoring: the controller derives recorded entries again, without a single call.

use std::sync::Arc;

use super::Controller;
use super::dispatch::Stage;
use crate::budget::Usage;
use crate::controller::entry_body::{EntryBody, Evaluation, HaltCause, LEDGER_FORMAT};
use crate::ledger::record::{Opened, RecordedAnswer};
use crate::ledger::replay::restore;
use crate::ledger::restore_error::RestoreError;
use crate::ledger::{Entry, Ledger};
use crate::machine::emission::Emission;
use crate::machine::exchange::{InputError, Ticket};

impl Controller {
    /// Rebuilds the controller that wrote a ledger. Every entry is derived again from the recorded
    /// contexts, answers and observations, and compared. [`Replay`](crate::Replay) does the same step
    /// by step.
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
        restore(ledger)
    }

    /// The controller after the first entry of a ledger.
    pub(super) fn reopened(first: &Arc<Entry>) -> Result<Self, RestoreError> {
        let opened = opening(first)?;
        let mut empty = Ledger::default();
        empty.expect(first);
        let mut controller = Self::opened(opened.config.clone(), opened.case.clone(), empty);
        controller.ledger.must_end_with(first)?;
        controller.emission = Emission::settled(&controller.ledger);
        Ok(controller)
    }

    /// Derives recorded entries again, one after the other, and compares.
    pub(super) fn follow(&mut self, entries: &[Arc<Entry>]) -> Result<(), RestoreError> {
        let mut entries = entries.iter().peekable();
        while let Some(entry) = entries.next() {
            self.derive(entry, entries.peek().copied())?;
        }
        self.emission = Emission::settled(&self.ledger);
        Ok(())
    }

    /// Derives a recorded entry again, and compares.
    pub(super) fn derive(
        &mut self,
        entry: &Arc<Entry>,
        next: Option<&Arc<Entry>>,
    ) -> Result<(), RestoreError> {
        self.ledger.expect(entry);
        match &entry.body {
            EntryBody::Opened(_) => {
                return Err(differs(entry, "an evaluation or an observation", "an opening"));
            }
            EntryBody::Evaluated(evaluation) => self.repeat_evaluation(entry, evaluation)?,
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
        self.advance(next);
        self.ledger.must_end_with(entry)
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
            || differs(entry, "that an entity was left to dispatch", "a halt that kept none");
        self.record_halt().then_some(()).ok_or_else(nothing_withheld)
    }

    /// Feeds a recorded evaluation to the slot that is next to be committed.
    fn repeat_evaluation(
        &mut self,
        entry: &Entry,
        evaluation: &Evaluation,
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
            let known = || self.ledger.context(&record.digest);
            let context = record.body.as_ref().or_else(known).cloned().ok_or_else(|| {
                differs(entry, "a context that was recorded", &record.digest.to_string())
            })?;
            self.take_context(ticket, context).map_err(|error| unfit(entry, &error))?;
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
        self.requests.retain(|(_, asked, _)| *asked != ticket);
    }
}

/// The input of the investigation that an entry opens.
pub(super) fn opening(first: &Entry) -> Result<&Opened, RestoreError> {
    let EntryBody::Opened(opened) = &first.body else { return Err(RestoreError::NotOpened) };
    if opened.format != LEDGER_FORMAT {
        return Err(RestoreError::UnknownFormat { found: opened.format, reads: LEDGER_FORMAT });
    }
    Ok(opened)
}

fn differs(entry: &Entry, expected: &str, found: &str) -> RestoreError {
    RestoreError::differs(entry.seq, expected, found)
}

fn unfit(entry: &Entry, error: &InputError) -> RestoreError {
    RestoreError::differs(entry.seq, "an answer that fits", error)
}
