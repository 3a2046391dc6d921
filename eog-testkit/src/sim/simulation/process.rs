//! One process: opens its files, makes its calls, runs the engine, and ends or dies.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use eog::ledger::{ForkChanges, Observation};
use eog::side::{SideFile, SideRecord, SideRecords};
use eog::{
    AbductivePolicy, CallRecorder, Case, Config, ContextContract, Engine, Event, EventStream,
    Finished, Journal, Limits, Speculation, StopReason, Timestamp, events, handle,
};
use tokio::time::Instant;

use super::answering::{Happening, Log, Outside};
use super::history::{End, Held, Process};
use super::plan::{Crash, Rough, When};
use crate::disk::SimDisk;

/// More polls than any simulated process needs, and more time.
const MOST_POLLS: u64 = 200_000;
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// The disks of one investigation.
#[derive(Clone, Debug, Default)]
pub(super) struct Disks {
    pub(super) journal: SimDisk,
    pub(super) side: SimDisk,
}

/// The responder.
pub(super) struct Answering<'a> {
    pub(super) contract: &'a dyn ContextContract,
    pub(super) policy: &'a dyn AbductivePolicy,
    pub(super) outside: &'a Outside,
    pub(super) log: &'a Log,
}

/// What a process is started with.
pub(super) struct Start<'a> {
    pub(super) config: &'a Config,
    pub(super) case: &'a Case,
    pub(super) limits: Limits,
    pub(super) ahead: Option<Speculation>,
    pub(super) fork: Option<(&'a eog::Ledger, ForkChanges)>,
    pub(super) rough: Rough,
}

impl Disks {
    /// What the machine and its disks do to a process.
    fn prepare(&self, crash: Option<Crash>) {
        match crash.map(|crash| crash.when) {
            Some(When::JournalFails(operations)) => self.journal.cut_power_after(operations),
            Some(When::SideFails(operations)) => self.side.cut_power_after(operations),
            Some(When::JournalFull(room)) => {
                self.journal.full_at(self.journal.bytes().len() as u64 + room);
            }
            Some(When::Polls(_)) | None => {}
        }
    }

    /// What they are like for the next process.
    fn recover(&self, loses: Option<u64>) {
        for (number, disk) in (0..).zip([&self.journal, &self.side]) {
            if let Some(seed) = loses {
                disk.crash(seed.wrapping_add(number));
            }
            disk.repair();
        }
    }

    /// What they hold after the machine has crashed once more.
    pub(super) fn left(&self, seed: u64) -> Result<Held, String> {
        self.recover(Some(seed));
        let (_, _, held) = self.open()?;
        Ok(held)
    }

    fn open(&self) -> Result<(Journal, (SideFile, SideRecords), Held), String> {
        let (journal, recovered) =
            Journal::on(self.journal.clone()).map_err(|error| error.to_string())?;
        let (side, records) = SideFile::on(self.side.clone()).map_err(|error| error.to_string())?;
        let outside = records.records.iter().filter_map(|record| match record {
            SideRecord::Outside { name, answer, .. } => Some((name.clone(), answer.as_u64()?)),
            _ => None,
        });
        let (outside, usage) = (outside.collect(), records.usage_so_far());
        Ok((journal, (side, records), Held { ledger: recovered.ledger, usage, outside }))
    }
}

/// Lets a process live until it ends or dies, and the machine start again.
pub(super) fn live(disks: &Disks, answering: &Answering<'_>, start: Start<'_>) -> Process {
    let crash = start.rough.crash;
    disks.prepare(crash);
    let dies_after = match crash.map(|crash| crash.when) {
        Some(When::Polls(polls)) => polls,
        _ => MOST_POLLS,
    };
    let disk_fault = crash.is_some_and(|crash| !matches!(crash.when, When::Polls(_)));
    let (polls, found) = (Cell::new(0), Cell::new(None));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let end = match runtime {
        Err(error) => End::GaveUp(format!("there is no runtime: {error}")),
        Ok(runtime) => runtime.block_on(async {
            let (sender, mut stream) = events();
            let life = tokio::time::timeout(LONGEST, run(disks, answering, start, sender, &found));
            let mut life = Box::pin(life);
            poll_fn(|context| {
                polls.set(polls.get() + 1);
                let polled = life.as_mut().poll(context);
                drain(&mut stream, answering.log);
                match polled {
                    Poll::Ready(Ok(end)) => Poll::Ready(end),
                    Poll::Ready(Err(_elapsed)) => Poll::Ready(End::Hung),
                    Poll::Pending if polls.get() < dies_after => Poll::Pending,
                    Poll::Pending if dies_after == MOST_POLLS => Poll::Ready(End::Hung),
                    Poll::Pending => Poll::Ready(End::Crashed),
                }
            })
            .await
        }),
    };
    disks.recover(crash.and_then(|crash| crash.loses));
    let happened = answering.log.take();
    Process { found: found.take(), happened, polls: polls.get(), disk_fault, end }
}

async fn run(
    disks: &Disks,
    answering: &Answering<'_>,
    start: Start<'_>,
    sender: eog::EventSender,
    found: &Cell<Option<Held>>,
) -> End {
    let (journal, (side, records), held) = match disks.open() {
        Ok(opened) => opened,
        Err(error) => return End::GaveUp(error),
    };
    let ledger = held.ledger.clone();
    let usage = held.usage;
    found.set(Some(held));
    let recorder = CallRecorder::on(side, &records).with_clock(clock());
    for name in Outside::BEFORE {
        if let Err(error) = answering.outside.call(&recorder, name).await {
            return End::GaveUp(error.to_string());
        }
    }
    let (handle, controls) = handle();
    let limits = Limits { deadline: start.rough.deadline, ..start.limits };
    let mut engine = Engine::new(answering.contract, answering.policy)
        .with_limits(limits)
        .with_journal(journal)
        .with_recorder(recorder.clone(), usage)
        .with_events(sender)
        .with_controls(controls);
    if let Some(ahead) = start.ahead {
        engine = engine.with_speculation(ahead);
    }
    let engine = async {
        let ended = match start.fork {
            Some((parent, changes)) => {
                let at = parent.next_seq().saturating_sub(1);
                engine.fork(parent, at, changes).await.map_err(|error| error.to_string())
            }
            None if ledger.entries().is_empty() => {
                Ok(engine.investigate(start.config.clone(), start.case.clone()).await)
            }
            None => engine.resume(&ledger).await.map_err(|error| error.to_string()),
        };
        ended.map_err(|error| format!("the ledger is refused: {error}"))
    };
    let ended = tokio::select! {
        biased;
        ended = engine => ended,
        () = control(handle, start.rough) => Err("it has no controls".to_owned()),
    };
    match ended {
        Ok(finished) => finish(finished, answering, &recorder).await,
        Err(error) => End::GaveUp(error),
    }
}

async fn finish(finished: Finished, answering: &Answering<'_>, recorder: &CallRecorder) -> End {
    let Finished { stop, machine: controller, journal_error, .. } = finished;
    let ended = stop.is_at_rest() || matches!(stop, StopReason::BudgetExhausted { .. });
    if ended && journal_error.is_none() {
        for _ in 0..3 {
            // What comes of a failure shows in the record.
            if answering.outside.call(recorder, Outside::AFTER).await.is_ok() {
                break;
            }
        }
    }
    End::Finished {
        stop,
        controller: Box::new(controller),
        journal_failed: journal_error.is_some(),
    }
}

/// Hands over the news and cancels at the drawn times; never ends.
async fn control(handle: eog::Handle, rough: Rough) {
    let began = Instant::now();
    let mut steps: Vec<(Duration, Option<Observation>)> =
        rough.news.into_iter().map(|(at, news)| (at, Some(news))).collect();
    steps.extend(rough.cancel_after.map(|at| (at, None)));
    steps.sort_by_key(|(at, _)| *at);
    for (at, step) in steps {
        if !at.is_zero() {
            tokio::time::sleep_until(began + at).await;
        }
        match step {
            // News that come too late are no news.
            Some(news) => _ = handle.observe(news).await,
            None => handle.cancel(),
        }
    }
    std::future::pending::<()>().await;
}

/// The clock of the records: virtual, like all time here.
fn clock() -> impl Fn() -> Timestamp + Send + Sync + 'static {
    let began = Instant::now();
    move || crate::names::hour().start() + began.elapsed()
}

/// Writes down what was acknowledged since the last poll.
fn drain(stream: &mut EventStream, log: &Log) {
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(event)) = pin!(stream.next()).poll(&mut context) {
        if let Event::Appended(entry) = event {
            log.note(Happening::Stored(entry));
        }
    }
}
