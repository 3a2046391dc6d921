//! Runs: what is due is captured, investigated and told, a few at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use eog_mcp::server::{Fate, Order, Outcome};
use eog_report::clean::clean_up_to;
use eog_sources::{CaptureError, CaptureReport, SentAlert, SourceConfig};
use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::desk::Job;
use crate::incident::{Incident, id};
use crate::message::{Event, Message, ResultView};
use crate::metrics::Kind;
use crate::retention;
use crate::service::Shared;

/// How often is looked for what has become due by time alone.
const BEAT: Duration = Duration::from_millis(250);
/// Most characters of a reason in a line.
const MAX_REASON: usize = 300;
/// How often what is over is cleared.
const CLEAR: Duration = Duration::from_secs(300);

/// Works until it is to stop. Runs that are under way are cut off by the server's end, and go on later.
pub(crate) async fn run(shared: Arc<Shared>, stop: CancellationToken) {
    let mut runs = JoinSet::new();
    let mut clearing = tokio::time::interval(CLEAR);
    loop {
        let now = shared.clock.now();
        close(&shared, now);
        while runs.len() < shared.at_once
            && let Some(job) = shared.desk.next(now)
        {
            let (shared, stop) = (shared.clone(), stop.clone());
            runs.spawn(async move { work(&shared, job, &stop).await });
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = runs.join_next() => {}
            _ = clearing.tick() => clear(&shared).await,
            () = shared.desk.changed() => {}
            () = tokio::time::sleep(BEAT) => {}
        }
    }
    while runs.join_next().await.is_some() {}
}

async fn clear(shared: &Arc<Shared>) {
    let shared = shared.clone();
    let cleared = tokio::task::spawn_blocking(move || {
        let Shared { desk, outbox, server, captures, keep, clock, .. } = &*shared;
        retention::clear(desk, outbox, &**server, captures, keep, clock.surely());
    });
    // Whoever panics there has said so.
    let _ = cleared.await;
}

/// Closes what is over, and tells it of those of which something was told before.
fn close(shared: &Shared, now: Timestamp) {
    for mut incident in shared.desk.over(now) {
        if incident.told > 0 {
            incident.problem = None;
            let message = shared.message(&incident, Event::Resolved, None);
            if shared.outbox.put(&message, now).is_err() {
                continue;
            }
        }
        let is_closed = shared.desk.change(incident.number, |it| {
            // An alert may have come in between.
            let is_over = it.resolved_at == incident.resolved_at && it.news_at.is_none();
            if is_over {
                it.told += 1;
                it.closed_at = Some(now);
            }
            is_over
        });
        if is_closed == Some(true) {
            tracing::info!(incident = %incident.id(), flaps = incident.flaps, "incident closed");
        }
    }
}

async fn work(shared: &Arc<Shared>, job: Job, stop: &CancellationToken) {
    // What is under way is on disk, so that a restart goes on with it.
    let _ = shared.desk.write(job.number).await;
    let (number, since) = (job.number, job.since);
    let incident = id(number);
    tracing::info!(%incident, run = job.run, alerts = job.alerts.len(), "run begins");
    let made = tokio::select! {
        biased;
        made = make(shared, job) => made,
        () = stop.cancelled() => {
            shared.desk.change(number, Incident::cut_off);
            tracing::info!(%incident, "run interrupted by shutdown; it continues after a restart");
            return;
        }
    };
    let now = shared.clock.now();
    match made {
        Ok(outcome) => {
            let confidence = outcome.report.diagnosis.conclusion.confidence.to_string();
            shared.metrics.runs.get_or_create(&Kind::of(confidence)).inc();
            let seconds = now.duration_since(since).as_secs_f64().max(0.0);
            shared.metrics.seconds.observe(seconds);
            tell(shared, number, &outcome, seconds, now);
        }
        Err(Problem { fate: Some(Fate::Again), .. }) if stop.is_cancelled() => {
            shared.desk.change(number, Incident::cut_off);
        }
        Err(Problem { reason, fate }) => {
            let told = clean_up_to(&reason, MAX_REASON);
            shared.metrics.runs.get_or_create(&Kind::of("failed")).inc();
            let may_again = fate != Some(Fate::Lost);
            let is_tried_again = shared.desk.change(number, |it| it.fail(reason, may_again, now));
            if is_tried_again == Some(true) {
                tracing::warn!(%incident, reason = ?told, "run without a result; it is retried");
            } else {
                tracing::error!(%incident, reason = ?told, "run without a result; given up");
            }
            if is_tried_again == Some(false) {
                put(shared, number, Event::Failed, None, now);
            }
        }
    }
}

/// Why a run has no result. Without a fate, it may have one later.
struct Problem {
    reason: String,
    fate: Option<Fate>,
}

async fn make(shared: &Arc<Shared>, job: Job) -> Result<Outcome, Problem> {
    let folder = capture_of(shared, job.number, job.run);
    let source = shared.source.clone().called(eog_evidence::shorten(&job.title, 120));
    let (alerts, into) = (job.alerts, folder.clone());
    // A capture borrows what cannot move between threads.
    let runtime = tokio::runtime::Handle::current();
    let captured =
        tokio::task::spawn_blocking(move || runtime.block_on(capture(&source, &alerts, &into)));
    let without_place = match captured.await {
        Ok(Ok(told)) => told,
        Ok(Err(reason)) => return Err(Problem { reason, fate: None }),
        Err(error) => return Err(Problem { reason: error.to_string(), fate: Some(Fate::Lost) }),
    };
    let mut order = Order::new(folder);
    order.settings = shared.settings.clone();
    // What takes in no news begins anew.
    order.of = job.investigation.filter(|id| shared.server.takes_news(id));
    let made = shared.server.carry_out(order).await;
    made.map_err(|error| {
        // Why there is nothing to start from is what its reader needs.
        let reasons = std::iter::once(error.reason).chain(without_place);
        Problem { reason: reasons.collect::<Vec<_>>().join("; "), fate: Some(error.fate) }
    })
}

/// Captures, and gives what is said of alerts that are on nothing that is known.
async fn capture(
    source: &SourceConfig,
    alerts: &[SentAlert],
    into: &Path,
) -> Result<Vec<String>, String> {
    let without_place =
        |report: &CaptureReport| report.without_place().map(str::to_owned).collect();
    if let Ok(Some(report)) = CaptureReport::of(into) {
        if eog_evidence::Bundle::read(into).is_ok() {
            return Ok(without_place(&report));
        }
        // A crash or the disk has damaged it. What cannot be removed is refused below.
        let _ = std::fs::remove_dir_all(into);
    }
    let begin = || eog_sources::capture_for(source, alerts, None, Timestamp::now(), into, &|_| {});
    let captured = match begin().await {
        // The folder is the service's own. What was begun there before a restart with another
        // configuration or version is not gone on with.
        Err(CaptureError::Folder { .. }) if std::fs::remove_dir_all(into).is_ok() => begin().await,
        captured => captured,
    };
    let report = captured.map_err(|error| error.to_string())?;
    if let Some(first) = report.missing.first() {
        let (count, first) = (report.missing.len(), clean_up_to(first, MAX_REASON));
        tracing::warn!(capture = ?into, missing = count, ?first, "some sources are incomplete");
    }
    Ok(without_place(&report))
}

fn tell(shared: &Shared, number: u64, outcome: &Outcome, seconds: f64, now: Timestamp) {
    let url = shared.page_url.as_ref().map(|url| format!("{url}/i/{}", outcome.id));
    let result = ResultView::new(&outcome.id, url, &outcome.report);
    let causes: Vec<String> =
        result.causes.iter().flat_map(|cause| cause.entities.clone()).collect();
    let confidence = result.confidence.clone();
    let (incident, investigation) = (id(number), &outcome.id);
    tracing::info!(%incident, %investigation, %confidence, ?causes, seconds, "run has a result");
    let Some(mut incident) = shared.desk.one(&id(number)) else { return };
    let event = if incident.investigation.is_some() { Event::Updated } else { Event::Diagnosed };
    incident.problem = None;
    // The message first: after a crash in between, the same one is made again, under the same id.
    put_message(shared, &shared.message(&incident, event, Some(result)), now);
    shared.desk.change(number, |it| {
        it.told += 1;
        it.end(outcome.id.clone(), confidence, causes, now);
    });
    if incident.investigation.as_ref() == Some(&outcome.id) {
        // The investigation goes on with the last capture, which holds what those before it held.
        for run in 1..incident.runs {
            let _ = std::fs::remove_dir_all(capture_of(shared, number, run));
        }
    }
}

impl Shared {
    fn message(&self, incident: &Incident, event: Event, result: Option<ResultView>) -> Message {
        Message::new(incident, event, result, self.own.name())
    }
}

/// The folder of a capture.
fn capture_of(shared: &Shared, number: u64, run: u32) -> PathBuf {
    shared.captures.join(format!("{}-{run}", id(number)))
}

fn put(shared: &Shared, number: u64, event: Event, result: Option<ResultView>, now: Timestamp) {
    let Some(incident) = shared.desk.one(&id(number)) else { return };
    put_message(shared, &shared.message(&incident, event, result), now);
    shared.desk.change(number, |it| it.told += 1);
}

fn put_message(shared: &Shared, message: &Message, now: Timestamp) {
    if let Err(reason) = shared.outbox.put(message, now) {
        tracing::error!(id = %message.id, ?reason, "the message cannot be stored");
    }
}
