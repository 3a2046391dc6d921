//! One run: stores entries, makes calls, and tells the controller, until it is done.

use std::sync::Arc;

use eog_core::{
    AbductivePolicy, ContextContract, Controller, Entry, Input, InputError, Observation, Output,
    StopReason, Usage,
};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::call::Caller;
use super::desk::{Desk, Ended};
use super::figures::Figures;
use super::{Engine, Finished, Limits, Speculation};
use crate::events::{Event, EventSender};
use crate::handle::Controls;
use crate::journal::{Journal, JournalError};
use crate::side::RunStart;

pub(super) struct Run<C, P> {
    contract: C,
    policy: P,
    limits: Limits,
    speculation: Option<Speculation>,
    controls: Option<Controls>,
    records: Records,
}

impl<C: ContextContract, P: AbductivePolicy> Run<C, P> {
    pub(super) fn of(engine: Engine<C, P>) -> Self {
        Self {
            contract: engine.contract,
            policy: engine.policy,
            limits: engine.limits,
            speculation: engine.speculation,
            controls: engine.controls,
            records: Records {
                journal: engine.journal,
                journal_error: None,
                figures: Figures::new(engine.recorder),
                events: engine.events,
                #[cfg(feature = "planted-faults")]
                late: Vec::new(),
            },
        }
    }

    pub(super) async fn drive(self, mut controller: Controller, start: RunStart) -> Finished {
        let Self { contract, policy, limits, speculation, mut controls, mut records } = self;
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
        let caller = Caller::new(contract, policy, limits);
        let mut desk = Desk::new(&caller, speculation);
        let mut waiting = None;
        records.figures.begin(start, records.journal.as_ref().map_or(0, Journal::entries));
        let stop = loop {
            let input = match waiting.take().unwrap_or_else(|| controller.poll()) {
                Output::Append(entry) => {
                    let mut batch = vec![entry];
                    waiting = more_entries(&mut controller, &mut batch);
                    if records.store(&batch, &mut controller, &mut desk).is_err() {
                        break StopReason::Cancelled;
                    }
                    // Contracts and policies that are ready at once never let go of the thread,
                    // but the deadline, cancellation and listeners need it, too.
                    tokio::task::yield_now().await;
                    continue;
                }
                Output::Fetch { ticket, request } => {
                    let (entity, visit) = (request.entity.clone(), request.visit);
                    records.tell(Event::Fetching { entity, visit });
                    let Some(input) = desk.fetch(ticket, request) else { continue };
                    input
                }
                Output::Decide { ticket, packet } => {
                    records.tell(Event::Deciding { entity: packet.entity.clone() });
                    let Some(input) = desk.decide(ticket, packet) else { continue };
                    input
                }
                // Whoever stopped it wants no more of it.
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
                // Outputs that a later version may add cannot be acted on; wait for an input.
                _ => match records.take_usage(&mut desk) {
                    Some(usage) => Input::Spent(usage),
                    None => {
                        desk.look_ahead(&controller);
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
                // What was asked ahead was asked of the world as it was.
                Input::Observe(_) => desk.forget_early(),
                _ => {}
            }
            if let Err(error) = controller.handle(input) {
                records.tell(Event::Refused(error.to_string()));
                debug_assert!(matches!(error, InputError::NoSuchEdge(_)), "{error}");
            }
        };
        #[cfg(feature = "planted-faults")]
        let _ = records.write(&[]);
        desk.clear();
        if let Some(usage) = records.take_usage(&mut desk) {
            let taken = controller.handle(Input::Spent(usage));
            debug_assert!(taken.is_ok(), "what was spent always fits");
        }
        let stored = records.journal.as_ref().map(Journal::entries);
        let entries = stored.unwrap_or_else(|| controller.ledger().next_seq());
        records.figures.end(entries, stop, caller.elapsed(), controller.spent());
        records.tell(Event::Stopped(stop));
        Finished {
            stop,
            controller,
            journal_error: records.journal_error,
            side_error: records.figures.into_error(),
            speculation: desk.speculation(),
            retries: caller.retries(),
        }
    }
}

enum Happened {
    Cancelled,
    Deadline,
    Observed(Observation),
    Ended(Ended),
}

/// Where a run leaves its traces.
struct Records {
    journal: Option<Journal>,
    journal_error: Option<JournalError>,
    figures: Figures,
    events: Option<EventSender>,
    /// What the planted fault has not stored yet.
    #[cfg(feature = "planted-faults")]
    late: Vec<Arc<Entry>>,
}

/// The journal takes no more.
struct NotStored;

impl Records {
    /// Stores entries, and tells the controller and whoever listens.
    fn store<C: ContextContract, P: AbductivePolicy>(
        &mut self,
        batch: &[Arc<Entry>],
        controller: &mut Controller,
        desk: &mut Desk<'_, C, P>,
    ) -> Result<(), NotStored> {
        if let Err(error) = self.write(batch) {
            self.journal_error = Some(error);
            return Err(NotStored);
        }
        for entry in batch {
            let stored = controller.handle(Input::Appended(entry.seq));
            debug_assert!(stored.is_ok(), "entries are acknowledged in order");
            if let Some(evaluation) = entry.evaluation() {
                let figures = desk.take_figures(&evaluation.entity);
                self.figures.evaluation(entry, figures);
            }
            self.tell(Event::Appended(Arc::clone(entry)));
        }
        if let Some(journal) = &mut self.journal {
            journal.keep_up(controller);
        }
        Ok(())
    }

    fn write(&mut self, batch: &[Arc<Entry>]) -> Result<(), JournalError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        #[cfg(feature = "planted-faults")]
        if eog_core::planted::is_planted(eog_core::planted::PlantedFault::StoresLate) {
            return journal.append(&std::mem::replace(&mut self.late, batch.to_vec()));
        }
        journal.append(batch)
    }

    /// What was spent since this was last asked and is in no answer, if anything.
    fn take_usage<C: ContextContract, P: AbductivePolicy>(
        &mut self,
        desk: &mut Desk<'_, C, P>,
    ) -> Option<Usage> {
        self.figures.waste(desk.take_waste());
        let mut usage = self.figures.take_usage();
        usage += desk.take_unaccounted();
        (usage != Usage::default()).then_some(usage)
    }

    fn tell(&self, event: Event) {
        if let Some(events) = &self.events {
            events.send(event);
        }
    }
}

/// Takes the entries that are ready as well, so that they are stored together. Returns the request
/// that came after them, if one did.
fn more_entries(controller: &mut Controller, batch: &mut Vec<Arc<Entry>>) -> Option<Output> {
    loop {
        match controller.poll() {
            Output::Append(entry) => batch.push(entry),
            request @ (Output::Fetch { .. } | Output::Decide { .. }) => return Some(request),
            // Idle or done for now: what is stored next may change that.
            _ => return None,
        }
    }
}

/// The next answer or observation. Who is looked at first takes turns, so that a flood of one does
/// not keep the other waiting.
async fn next<C: ContextContract, P: AbductivePolicy>(
    desk: &mut Desk<'_, C, P>,
    controls: &mut Option<Controls>,
    answers_first: bool,
) -> Happened {
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
