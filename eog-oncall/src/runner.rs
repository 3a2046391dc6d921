//! Runs: what is due is captured, investigated and reported, a few at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use eog_mcp::server::{Fate, Order, Outcome};
use eog_report::clean::clean_up_to;
use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::captures;
use crate::check::{check, keep};
use crate::desk::Job;
use crate::incident::{Incident, id};
use crate::message::{Event, Message, ResultView};
use crate::metrics::Kind;
use crate::retention;
use crate::service::Shared;

/// How often to check for what has become due by time alone.
const BEAT: Duration = Duration::from_millis(250);
/// Most characters of a reason in a line.
const MAX_REASON: usize = 300;
/// How often what is over is cleared.
const CLEAR: Duration = Duration::from_secs(300);

/// Works until it is to stop. Runs that are under way are cut off by the server's end, and go on later.
pub(crate) async fn run(shared: Arc<Shared>, stop: CancellationToken) {
    let mut runs = JoinSet::new();
    let mut kept = BTreeSet::new();
    let mut clearing = tokio::time::interval(CLEAR);
    loop {
        let now = shared.clock.now();
        for verified in close(&shared, now) {
            if kept.insert(verified.number) {
                let shared = shared.clone();
                runs.spawn(async move { keep(&shared, verified).await });
            }
        }
        while runs.len() < shared.at_once
            && let Some(job) = shared.desk.next(now)
        {
            let (shared, stop) = (shared.clone(), stop.clone());
            runs.spawn(async move { work(&shared, job, &stop).await });
        }
        while runs.len() < shared.at_once
            && let Some(one) = shared.desk.next_check(now)
        {
            let (shared, stop) = (shared.clone(), stop.clone());
            runs.spawn(async move { check(&shared, one, &stop).await });
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
    // A panic there is printed already.
    let _ = cleared.await;
}

/// Closes what is over, and sends a message on those that had one before. Those that become cases first are given instead.
fn close(shared: &Shared, now: Timestamp) -> Vec<Incident> {
    let (verified, over): (Vec<_>, Vec<_>) =
        shared.desk.over(now).into_iter().partition(Incident::is_to_be_kept);
    for mut incident in over {
        if incident.messages > 0 {
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
                it.messages += 1;
                it.closed_at = Some(now);
            }
            is_over
        });
        if is_closed == Some(true) {
            tracing::info!(incident = %incident.id(), flaps = incident.flaps, "incident closed");
        }
    }
    verified
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
            report(shared, number, &outcome, seconds, now);
        }
        Err(Problem { fate: Some(Fate::Again), .. }) if stop.is_cancelled() => {
            shared.desk.change(number, Incident::cut_off);
        }
        Err(Problem { reason, fate }) => {
            let cleaned = clean_up_to(&reason, MAX_REASON);
            shared.metrics.runs.get_or_create(&Kind::of("failed")).inc();
            let may_again = fate != Some(Fate::Lost);
            let is_tried_again = shared.desk.change(number, |it| it.fail(reason, may_again, now));
            if is_tried_again == Some(true) {
                tracing::warn!(%incident, reason = ?cleaned, "run without a result; it is retried");
            } else {
                tracing::error!(%incident, reason = ?cleaned, "run without a result; given up");
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
    let folder = captures::of_run(shared, job.number, job.run);
    let captured = captures::capture(shared, &job.title, job.alerts, &folder).await;
    let without_place = captured.map_err(|reason| Problem { reason, fate: None })?;
    let mut order = Order::new(folder);
    order.settings = shared.settings.clone();
    order.said = job.withdrawn;
    // What takes in no news begins anew.
    order.of = job.investigation.filter(|id| shared.server.takes_news(id));
    let made = shared.server.carry_out(order).await;
    made.map_err(|error| {
        // Why there is nothing to start from is what its reader needs.
        let reasons = std::iter::once(error.reason).chain(without_place);
        Problem { reason: reasons.collect::<Vec<_>>().join("; "), fate: Some(error.fate) }
    })
}

fn report(shared: &Shared, number: u64, outcome: &Outcome, seconds: f64, now: Timestamp) {
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
        it.messages += 1;
        it.end(outcome.id.clone(), confidence, causes, now);
    });
    if incident.investigation.as_ref() == Some(&outcome.id) {
        // The investigation goes on with the last capture, which holds what those before it held.
        for run in 1..incident.runs {
            let _ = std::fs::remove_dir_all(captures::of_run(shared, number, run));
        }
    }
}

impl Shared {
    pub(crate) fn message(
        &self,
        incident: &Incident,
        event: Event,
        result: Option<ResultView>,
    ) -> Message {
        Message::new(incident, event, result, self.own.name())
    }
}

fn put(shared: &Shared, number: u64, event: Event, result: Option<ResultView>, now: Timestamp) {
    let Some(incident) = shared.desk.one(&id(number)) else { return };
    put_message(shared, &shared.message(&incident, event, result), now);
    shared.desk.change(number, |it| it.messages += 1);
}

pub(crate) fn put_message(shared: &Shared, message: &Message, now: Timestamp) {
    if let Err(reason) = shared.outbox.put(message, now) {
        tracing::error!(id = %message.id, ?reason, "the message cannot be stored");
    }
}
