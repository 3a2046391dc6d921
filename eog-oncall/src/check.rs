//! A check of the sources: whether a cause was repaired, and what followed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use eog::EntityId;
use eog_report::clean::clean_up_to;
use eog_session::recovery::{Verdict, Verification, VerifyError, verify};
use eog_session::source::{OfBundle, ReadOptions};
use tokio_util::sync::CancellationToken;

use crate::captures;
use crate::desk::Check;
use crate::incident::{Incident, Recovery, id};
use crate::message::Event;
use crate::runner::put_message;
use crate::service::Shared;

/// Most characters of a reason in a line.
const MAX_REASON: usize = 300;
/// How often it is tried to keep a case, and how long in between.
const ATTEMPTS: usize = 3;
const PAUSE: Duration = Duration::from_secs(2);

/// Checks the sources. A cause whose repair had no effect is withdrawn, and a further run becomes due.
pub(crate) async fn check(shared: &Arc<Shared>, one: Check, stop: &CancellationToken) {
    let (number, run) = (one.number, one.run);
    let folder = captures::of_check(shared, number);
    let found = tokio::select! {
        biased;
        found = recovery(shared, one) => found,
        () = stop.cancelled() => return,
    };
    let _ = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(folder)).await;
    let incident = id(number);
    let (found, problem) = match found {
        Ok(found) => (found, None),
        Err(reason) => {
            let reason = clean_up_to(&reason, MAX_REASON);
            tracing::warn!(%incident, ?reason, "the check for a repair failed; it is repeated");
            (None, Some(reason))
        }
    };
    let without_effect = found.as_ref().filter(|it| it.verdict == Verdict::Withdrawn);
    let without_effect: Vec<EntityId> =
        without_effect.map(|it| it.origins.clone()).unwrap_or_default();
    let view = found.as_ref().map(Recovery::new);
    let now = shared.clock.now();
    let apply = |it: &mut Incident| {
        // A run may have had another result in between.
        it.runs == run && it.checked(view.clone(), problem.clone(), &without_effect, now)
    };
    let Some(mut after) = shared.desk.one(&incident) else { return };
    let (causes, verdict) = match (apply(&mut after), found) {
        (true, Some(found)) => (found.origins, found.verdict),
        _ => {
            shared.desk.change(number, apply);
            return;
        }
    };
    tracing::info!(%incident, ?causes, %verdict, "repair judged");
    let event = match verdict {
        Verdict::Verified => Some(Event::Verified),
        Verdict::Withdrawn => Some(Event::Withdrawn),
        _ => None,
    };
    if let Some(event) = event {
        // The message first: after a crash in between, the same one is made again, under the same id.
        after.problem = None;
        put_message(shared, &shared.message(&after, event, None), now);
    }
    shared.desk.change(number, |it| {
        apply(it);
        it.messages += u32::from(event.is_some());
    });
}

/// What followed a repair; nothing where none is known.
async fn recovery(shared: &Arc<Shared>, one: Check) -> Result<Option<Verification>, String> {
    let folder = captures::of_check(shared, one.number);
    let left = folder.clone();
    // What a check before a crash has left behind is older than this one.
    let _ = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(left)).await;
    captures::capture(shared, &one.title, one.alerts, &folder).await?;
    let server = shared.server.clone();
    let (investigation, asked) = (one.investigation, one.asked);
    let verified = tokio::task::spawn_blocking(move || {
        let diagnosis = server.standing(&investigation)?.report.diagnosis;
        let after = OfBundle::open(&folder, &ReadOptions::default());
        let after = after.map_err(|error| error.to_string())?;
        match verify(&diagnosis, &after, &asked) {
            Ok(found) => Ok(Some(found)),
            Err(VerifyError::NoIntervention { .. } | VerifyError::NoCause) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    });
    verified.await.map_err(|error| error.to_string())?
}

/// Keeps an incident whose cause was verified as a case, before it is closed.
pub(crate) async fn keep(shared: &Arc<Shared>, incident: Incident) {
    let (number, name) = (incident.number, incident.id());
    let mut kept = close_verified(shared, &incident).await;
    for _ in 1..ATTEMPTS {
        if kept.is_err() {
            // Another process may be writing to the folder of cases.
            tokio::time::sleep(PAUSE).await;
            kept = close_verified(shared, &incident).await;
        }
    }
    let case = kept.unwrap_or_else(|reason| {
        let reason = clean_up_to(&reason, MAX_REASON);
        tracing::warn!(incident = %name, ?reason, "the incident is not kept as a case");
        None
    });
    if let Some(case) = &case {
        tracing::info!(incident = %name, case, "the incident is kept as a case");
    }
    shared.desk.change(number, |it| it.case = Some(case.unwrap_or_default()));
}

async fn close_verified(
    shared: &Arc<Shared>,
    incident: &Incident,
) -> Result<Option<String>, String> {
    let (Some(recovery), Some(id)) = (incident.recovery(), &incident.investigation) else {
        return Ok(None);
    };
    let causes = recovery.causes.iter().filter_map(|it| EntityId::new(it.clone()).ok());
    let causes: BTreeSet<EntityId> = causes.collect();
    let (server, id, note) = (shared.server.clone(), id.clone(), recovery.in_words());
    let closed = tokio::task::spawn_blocking(move || server.close_verified(&id, causes, note));
    closed.await.map_err(|error| error.to_string())?
}
