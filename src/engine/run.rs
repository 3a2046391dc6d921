//! One run: stores entries, makes calls, and drives the controller, until it is done.

use std::sync::Arc;

use eog_core::ledger::{Body, Observation};
use eog_core::machine::{InputError, Question, Responder};
use eog_core::{Entry, Input, Machine, Output, Spent, StopReason, Usage};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::call::Caller;
use super::desk::{Desk, Ended};
use super::figures::Figures;
use super::{Finished, Limits, Speculation};
use crate::events::{Event, EventSender};
use crate::handle::Controls;
use crate::journal::{Journal, JournalError};
use crate::side::{CallRecorder, RunStart};

/// The input of a run.
pub(super) struct Run<R, B> {
    pub(super) caller: Caller<R>,
    pub(super) limits: Limits,
    pub(super) speculation: Option<Speculation>,
    pub(super) controls: Option<Controls>,
    pub(super) records: Records<B>,
}

impl<R, B: Body> Run<R, B> {
    /// Drives a machine until it is done.
    pub(super) async fn drive<M>(self, mut machine: M, start: RunStart) -> Finished<M>
    where
        M: Machine<Body = B>,
        R: Responder<M::Question>,
    {
        let Self { caller, limits, speculation, mut controls, mut records } = self;
        let deadline = async {
            match limits.deadline {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
        };
        let mut deadline = std::pin::pin!(deadline.fuse());
        let cancel = controls.as_ref().map(Controls::cancellation);
        let cancelled = async {
            match &cancel {
                Some(cancel) => cancel.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let mut cancelled = std::pin::pin!(cancelled.fuse());
        let mut answers_first = false;
        let mut desk = Desk::new(&caller, speculation);
        let mut waiting = None;
        records.figures.begin(start, records.journal.as_ref().map_or(0, Journal::entries));
        let stop = loop {
            let input = match waiting.take().unwrap_or_else(|| machine.poll()) {
                Output::Append(entry) => {
                    let mut batch = vec![entry];
                    waiting = more_entries(&mut machine, &mut batch);
                    if records.store(&batch, &mut machine, &mut desk).is_err() {
                        break StopReason::Cancelled;
                    }
                    // Contracts and policies that are ready at once never let go of the thread,
                    // but the deadline, cancellation and listeners need it, too.
                    tokio::task::yield_now().await;
                    continue;
                }
                Output::Ask { ticket, question } => {
                    let (about, kind) = (question.about().clone(), question.kind());
                    records.send(Event::Asking { about, kind });
                    let Some(input) = desk.ask(ticket, question) else { continue };
                    input
                }
                // The caller that stopped it wants no more of it.
                Output::Done(stop @ (StopReason::Cancelled | StopReason::Deadline)) => break stop,
                // Observations that come without end do not keep it from ending.
                Output::Done(stop)
                    if limits.deadline.is_some_and(|after| caller.elapsed() >= after)
                        || cancel.as_ref().is_some_and(CancellationToken::is_cancelled) =>
                {
                    break stop;
                }
                Output::Done(stop) => match controls.as_mut().and_then(Controls::last_call) {
                    Some(observation) => Input::Observe(observation),
                    None => break stop,
                },
                Output::Idle => match records.take_usage(&mut desk) {
                    Some(usage) => Input::Spent(usage),
                    None => {
                        desk.look_ahead(&machine);
                        answers_first = !answers_first;
                        let happened = tokio::select! {
                            biased;
                            () = &mut cancelled => Happened::Cancelled,
                            () = &mut deadline => Happened::Deadline,
                            happened = next(&mut desk, &mut controls, answers_first) => happened,
                        };
                        match happened {
                            Happened::Cancelled => Input::Cancel,
                            Happened::Deadline => Input::Deadline,
                            Happened::Observed(news) => Input::Observe(news),
                            Happened::Ended(ended) => match desk.finish(ended) {
                                Some(input) => input,
                                None => continue,
                            },
                        }
                    }
                },
            };
            match &input {
                Input::Cancel => desk.clear(),
                // What else is under way was discarded with the question that may not be asked.
                Input::Failed(_, failure) if failure.exhausted.is_some() => desk.clear(),
                // What was asked ahead was about the world before.
                Input::Observe(_) => desk.forget_early(),
                _ => {}
            }
            if let Err(error) = machine.handle(input) {
                records.send(Event::Refused(error.to_string()));
                let is_of_observations = matches!(
                    error,
                    InputError::NoSuchEdge(_) | InputError::TakesNoObservations { .. }
                );
                debug_assert!(is_of_observations, "{error}");
            }
        };
        #[cfg(feature = "planted-faults")]
        let _ = records.write(&[]);
        desk.clear();
        if let Some(usage) = records.take_usage(&mut desk) {
            let taken = machine.handle(Input::Spent(usage));
            debug_assert!(taken.is_ok(), "what was spent always fits");
        }
        records.send_spent(machine.spent());
        let stored = records.journal.as_ref().map(Journal::entries);
        let entries = stored.unwrap_or_else(|| machine.ledger().next_seq());
        records.figures.end(entries, stop, caller.elapsed(), machine.spent());
        records.send(Event::Stopped(stop));
        Finished {
            stop,
            machine,
            journal_error: records.journal_error,
            side_error: records.figures.into_error(),
            speculation: desk.speculation(),
            retries: caller.retries(),
        }
    }
}

enum Happened<Q: Question> {
    Cancelled,
    Deadline,
    Observed(Observation),
    Ended(Ended<Q>),
}

/// The traces of a run.
pub(super) struct Records<B> {
    journal: Option<Journal>,
    journal_error: Option<JournalError>,
    figures: Figures,
    events: Option<EventSender<B>>,
    /// The costs that listeners know.
    spent: Spent,
    /// The entries that the planted fault has not stored yet.
    #[cfg(feature = "planted-faults")]
    late: Vec<Arc<Entry<B>>>,
}

/// The journal takes no more entries.
struct NotStored;

impl<B: Body> Records<B> {
    pub(super) fn new(
        journal: Option<Journal>,
        recorder: Option<CallRecorder>,
        events: Option<EventSender<B>>,
    ) -> Self {
        Self {
            journal,
            journal_error: None,
            figures: Figures::new(recorder),
            events,
            spent: Spent::default(),
            #[cfg(feature = "planted-faults")]
            late: Vec::new(),
        }
    }

    /// Stores entries, and notifies the machine and the listeners.
    fn store<M, R>(
        &mut self,
        batch: &[Arc<Entry<B>>],
        machine: &mut M,
        desk: &mut Desk<'_, R, M::Question>,
    ) -> Result<(), NotStored>
    where
        M: Machine<Body = B>,
        R: Responder<M::Question>,
    {
        if let Err(error) = self.write(batch) {
            self.journal_error = Some(error);
            return Err(NotStored);
        }
        for entry in batch {
            let stored = machine.handle(Input::Appended(entry.seq));
            debug_assert!(stored.is_ok(), "entries are acknowledged in order");
            if let Some(look) = entry.body.look() {
                let figures = desk.take_figures(look.key);
                self.figures.entry(entry.seq, look.key.clone(), figures);
            }
            self.send(Event::Appended(Arc::clone(entry)));
        }
        self.send_spent(machine.spent());
        if let Some(journal) = &mut self.journal {
            journal.keep_up(machine);
        }
        Ok(())
    }

    fn write(&mut self, batch: &[Arc<Entry<B>>]) -> Result<(), JournalError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        #[cfg(feature = "planted-faults")]
        if eog_core::planted::is_planted(eog_core::planted::PlantedFault::StoresLate) {
            return journal.append(&std::mem::replace(&mut self.late, batch.to_vec()));
        }
        journal.append(batch)
    }

    /// What was spent since this was last asked and is in no answer, if anything.
    fn take_usage<R: Responder<Q>, Q: Question>(
        &mut self,
        desk: &mut Desk<'_, R, Q>,
    ) -> Option<Usage> {
        self.figures.waste(desk.take_waste());
        let mut usage = self.figures.take_usage();
        usage += desk.take_unaccounted();
        (usage != Usage::default()).then_some(usage)
    }

    fn send_spent(&mut self, spent: Spent) {
        if std::mem::replace(&mut self.spent, spent) != spent {
            self.send(Event::Spent(spent));
        }
    }

    fn send(&self, event: Event<B>) {
        if let Some(events) = &self.events {
            events.send(event);
        }
    }
}

/// Takes the entries that are ready as well, so that they are stored together. Returns the question
/// that came after them, if one did.
fn more_entries<M: Machine>(
    machine: &mut M,
    batch: &mut Vec<Arc<Entry<M::Body>>>,
) -> Option<Output<M::Body, M::Question>> {
    loop {
        match machine.poll() {
            Output::Append(entry) => batch.push(entry),
            question @ Output::Ask { .. } => return Some(question),
            // For now: the next entries may change that.
            Output::Idle | Output::Done(_) => return None,
        }
    }
}

/// The next answer or observation. They are polled first in turns, so that a flood of one does not
/// keep the other waiting.
async fn next<R: Responder<Q>, Q: Question>(
    desk: &mut Desk<'_, R, Q>,
    controls: &mut Option<Controls>,
    answers_first: bool,
) -> Happened<Q> {
    let observation = async {
        match controls {
            Some(controls) => controls.observation().await,
            None => std::future::pending().await,
        }
    };
    if answers_first {
        tokio::select! {
            biased;
            Some(ended) = desk.next() => Happened::Ended(ended),
            news = observation => Happened::Observed(news),
        }
    } else {
        tokio::select! {
            biased;
            news = observation => Happened::Observed(news),
            Some(ended) = desk.next() => Happened::Ended(ended),
        }
    }
}
