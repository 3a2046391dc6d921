//! One investigation, from wherever its ledger ends to its end.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use crate::shown::clean_line;
use eog::journal::JournalError;
use eog::side::{SideError, SideFile};
use eog::{CallRecorder, DecisionMemory, StopReason};
use eog_nats::{CheckpointObject, InvestigationId, NatsError, Part};
use eog_report::Report;
use eog_session::Listener;
use eog_session::controllers::AnyLedger;
use eog_session::judge::{Chosen, Policies as _};
use eog_session::run::{
    Course, CutShort, Ended, Records, RunError, Start, Steering, Unbegun, same_judge, same_source,
};
use eog_session::source::{Words, keep_words};

use super::follow::{Following, Received, began_after};
use super::incidents::{Incidents, Unopened};
use super::order::Order;
use super::reach::Reached;
use super::state::{State, Status};
use crate::args;
use crate::interrupt::{cancelling, interrupted};
use crate::reports::report_of_run;
use crate::runtime::runtime;

/// After which time another worker tries what this one cannot do.
pub(super) const OTHERS: Duration = Duration::from_secs(30);
/// After which time the cluster is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// What became of an investigation here.
pub(super) enum Outcome {
    /// It has ended, having taken in what was said up to this place.
    Ended(Box<State>, u64),
    /// Another worker is to have it, after a while.
    Back { note: String, after: Duration },
    /// Another worker has it.
    Taken,
    /// It was removed.
    Gone,
}

/// Why an investigation did not come to an end here.
pub(super) enum Trouble {
    /// It cannot be investigated, by this worker or another one.
    Failed(String),
    /// Another one may, or this one later.
    Later(String, Duration),
    Taken,
    Gone,
}

/// Whatever investigates here.
pub(super) struct Work<'a> {
    pub(super) reached: &'a Reached,
    pub(super) chosen: &'a Chosen,
    pub(super) arguments: &'a args::Worker,
    /// What this worker is called.
    pub(super) name: &'a str,
    pub(super) incidents: &'a Incidents,
    /// Decisions of all workers, if they are to be used.
    pub(super) memory: Option<DecisionMemory>,
}

impl Work<'_> {
    /// Investigates to the end.
    pub(super) fn on(&self, id: &InvestigationId, order: &Order, attempts: u64) -> Outcome {
        match self.investigate(id, order, attempts) {
            Ok(outcome) => outcome,
            Err(Trouble::Failed(note)) => {
                let state = State::new(Status::Failed, self.name, attempts, note);
                Outcome::Ended(Box::new(state), u64::MAX)
            }
            Err(Trouble::Later(note, after)) => Outcome::Back { note, after },
            Err(Trouble::Taken) => Outcome::Taken,
            Err(Trouble::Gone) => Outcome::Gone,
        }
    }

    fn investigate(
        &self,
        id: &InvestigationId,
        order: &Order,
        attempts: u64,
    ) -> Result<Outcome, Trouble> {
        let since = Instant::now();
        let incident = self.incidents.open(self.reached, id, order)?;
        let opened = &incident.opened;
        let topology = &opened.incident().topology;
        let register = &self.reached.register;
        let takes_words = order.settings.takes_words();
        let mut offered = BTreeSet::new();
        loop {
            let (ledger, records) = self.take_over(id)?;
            let received = Received::read(register, id, topology)?;
            if received.is_cancelled {
                return self.cancelled(id, order, attempts, &ledger, received.last);
            }
            let recorder = records.recorder.clone();
            let is_new = ledger.is_empty();
            let began = began_after(&recorder, is_new.then_some(received.last));
            let began = wait(began)?.map_err(|error| of_run(RunError::Recorder(error)))?;
            let words = received.words(if is_new { began } else { u64::MAX });
            self.keep(&recorder, &words)?;
            let news = match !is_new && takes_words {
                true => received.pending(began, &ledger, &mut offered),
                false => Vec::new(),
            };
            let (steering, cancel) = Steering::new();
            let listener = Arc::new(Notices { id: id.clone(), quiet: self.arguments.quiet });
            let course = Course {
                words,
                records,
                memory: self.memory.clone(),
                speculation: self.arguments.speculation(),
                deadline: self.arguments.deadline,
                since,
                steering,
                listener,
                ..Course::new(self.chosen, opened.clone())
            };
            let following = Following {
                register,
                id,
                topology,
                recorder: &recorder,
                cancel: &cancel,
                takes_words,
                last: AtomicU64::new(if is_new { began } else { received.last }),
            };
            let run = async {
                if is_new {
                    let settings = order.settings.clone().judged_by(Some(self.chosen.name()));
                    return course.begin(Start::of(opened, settings, order.window)?).await;
                }
                same_source(opened, &ledger)?;
                same_judge(self.chosen, ledger.judge_at(u64::MAX))?;
                course.resume(&ledger, news).await
            };
            let ended = wait(async {
                tokio::select! {
                    ended = cancelling(&cancel, run) => ended,
                    never = following.follow() => match never {},
                }
            })?;
            let mut ended = match ended {
                Err(RunError::NotBegun(Unbegun::Cancelled)) => {
                    if is_interrupted() {
                        return Ok(given_back());
                    }
                    // What people said decides.
                    continue;
                }
                ended => ended.map_err(of_run)?,
            };
            if let Some(error) = ended.finished.take_journal_error() {
                return Err(of_journal(&error));
            }
            if let Some(error) = ended.finished.side_error() {
                return Err(of_side(error));
            }
            let is_cut = ended.finished.stop() == StopReason::Cancelled
                || ended.cut_short == Some(CutShort::Interrupted);
            if is_cut && is_interrupted() {
                return Ok(given_back());
            }
            let received = Received::read(register, id, topology)?;
            let ledger = ended.finished.ledger();
            let has_news =
                takes_words && !received.pending(began, &ledger, &mut offered.clone()).is_empty();
            if !received.is_cancelled && (has_news || is_cut) {
                continue;
            }
            let state = self.state(id, &mut ended, attempts)?;
            return Ok(Outcome::Ended(Box::new(state), received.last));
        }
    }

    /// Becomes the writer of ledger and side file. The previous one can write no more.
    fn take_over(&self, id: &InvestigationId) -> Result<(AnyLedger, Records), Trouble> {
        let cluster = &self.reached.cluster;
        let medium = cluster.take_over(Part::Ledger, id)?;
        let (ledger, journal, _) =
            AnyLedger::open_journal_on(medium).map_err(|error| of_journal(&error))?;
        let journal = journal.with_checkpoints(CheckpointObject::of(cluster, id));
        let medium = cluster.take_over(Part::Side, id)?;
        let (side, before) = SideFile::on(medium).map_err(|error| of_side(&error))?;
        Ok((ledger, Records::on(journal, side, &before)))
    }

    /// Keeps what was said beside the ledger, for readers without the register.
    fn keep(&self, recorder: &CallRecorder, words: &Words) -> Result<(), Trouble> {
        let failed = |error| of_run(RunError::Recorder(error));
        let kept = wait(keep_words(recorder, Words::new()))?.map_err(failed)?;
        let lacks = words.iter().filter(|(entity, word)| kept.get(*entity) != Some(*word));
        let lacks: Words = lacks.map(|(entity, word)| (entity.clone(), word.clone())).collect();
        if !lacks.is_empty() {
            wait(keep_words(recorder, lacks))?.map_err(failed)?;
        }
        Ok(())
    }

    /// An investigation that ends where its ledger does, since it was cancelled.
    fn cancelled(
        &self,
        id: &InvestigationId,
        order: &Order,
        attempts: u64,
        ledger: &AnyLedger,
        last: u64,
    ) -> Result<Outcome, Trouble> {
        let state = if ledger.is_empty() {
            let note = "before it began".to_owned();
            State::new(Status::Cancelled, self.name, attempts, note)
        } else {
            let finished = ledger.restore(|| Some(StopReason::Cancelled)).map_err(of_restore)?;
            let report = Report::new(order.name.as_str(), finished.diagnosis());
            self.reported(id, &report, attempts, ledger.len())?
        };
        Ok(Outcome::Ended(Box::new(state), last))
    }

    fn state(
        &self,
        id: &InvestigationId,
        ended: &mut Ended,
        attempts: u64,
    ) -> Result<State, Trouble> {
        let entries = ended.finished.entries();
        let report = report_of_run(ended);
        self.reported(id, &report, attempts, entries)
    }

    fn reported(
        &self,
        id: &InvestigationId,
        report: &Report,
        attempts: u64,
        entries: u64,
    ) -> Result<State, Trouble> {
        let text = eog_report::markdown(report);
        let block = self.reached.cluster.store(id, text.as_bytes())?;
        let mut state = State::of_report(report, self.name, attempts, entries);
        state.report = Some(block.to_string());
        Ok(state)
    }
}

/// Progress for the worker's standard error.
struct Notices {
    id: InvestigationId,
    quiet: bool,
}

impl Listener for Notices {
    fn notice(&self, line: &str) {
        if !self.quiet {
            eprintln!("{}", clean_line(&format!("eog: {}: {line}", self.id)));
        }
    }
}

/// Runs something on the runtime of this process.
fn wait<T>(what: impl Future<Output = T>) -> Result<T, Trouble> {
    let runtime = runtime().map_err(|error| Trouble::Later(error.to_string(), OTHERS))?;
    Ok(runtime.block_on(what))
}

/// Whether the person or the system wants this worker to end.
pub(super) fn is_interrupted() -> bool {
    let ready = async {
        tokio::select! {
            biased;
            () = interrupted() => true,
            () = std::future::ready(()) => false,
        }
    };
    runtime().is_ok_and(|runtime| runtime.block_on(ready))
}

fn given_back() -> Outcome {
    let note = "its worker was stopped and returned it".to_owned();
    Outcome::Back { note, after: Duration::ZERO }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(note) | Self::Later(note, _) => f.write_str(note),
            Self::Taken => f.write_str("another worker has it"),
            Self::Gone => f.write_str("it was removed"),
        }
    }
}

impl From<Unopened> for Trouble {
    fn from(unopened: Unopened) -> Self {
        match unopened {
            Unopened::Nats(error) => error.into(),
            Unopened::Unusable(reason) => Self::Failed(reason),
            Unopened::Here(reason) => Self::Later(reason, OTHERS),
        }
    }
}

impl From<NatsError> for Trouble {
    fn from(error: NatsError) -> Self {
        match error {
            NatsError::TakenOver { .. } => Self::Taken,
            NatsError::Removed { .. } => Self::Gone,
            NatsError::Damaged { .. } | NatsError::Altered { .. } => {
                Self::Failed(error.to_string())
            }
            error => Self::Later(error.to_string(), AGAIN),
        }
    }
}

fn of_journal(error: &JournalError) -> Trouble {
    match (cause(error), error) {
        (Some(cause), _) => cause.clone().into(),
        (None, JournalError::Damaged { .. }) => Trouble::Failed(error.to_string()),
        (None, _) => Trouble::Later(error.to_string(), OTHERS),
    }
}

fn of_side(error: &SideError) -> Trouble {
    match (cause(error), error) {
        (Some(cause), _) => cause.clone().into(),
        (None, SideError::Damaged { .. }) => Trouble::Failed(error.to_string()),
        (None, _) => Trouble::Later(error.to_string(), OTHERS),
    }
}

/// Another version of eog has other rules.
#[expect(clippy::needless_pass_by_value, reason = "map_err hands errors over by value")]
fn of_restore(error: eog::ledger::RestoreError) -> Trouble {
    Trouble::Later(format!("its ledger was written by another version of eog: {error}"), OTHERS)
}

fn of_run(error: RunError) -> Trouble {
    if let Some(cause) = cause(&error) {
        return cause.clone().into();
    }
    let said = error.to_string();
    match error {
        RunError::Start(_) | RunError::OtherController(_) | RunError::Fork(_) | RunError::Empty => {
            Trouble::Failed(said)
        }
        RunError::NotBegun(_) => Trouble::Failed(said),
        RunError::OtherJudge { then, now } => {
            let note = format!(
                "it was started with the policy {then}, but this worker has {now}; start \
                         a worker with the same policy"
            );
            Trouble::Later(note, OTHERS)
        }
        _ => Trouble::Later(said, OTHERS),
    }
}

/// What the cluster said, if that is behind an error.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a NatsError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| inner.downcast_ref()) {
            return Some(found);
        }
        next = error.source();
    }
    None
}
