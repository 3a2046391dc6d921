//! Alerts about what is as its operators want it: a workload that is switched off, a job that is done.

use eog_core::EntityId;
use eog_core::evidence::Signal;
use eog_core::incident::Edge;
use serde_json::Value;

use crate::graph::{OperationalGraph, relation};
use crate::json::{condition, is_true, moment, text};
use crate::names;
use crate::read::{ObjectHistory, Objects};

/// Why an entity that does not run is as it should be, if it is. Only what alerts say of not
/// running is meant; a job that is done can still have been slow.
pub(super) fn as_wanted(
    entity: &EntityId,
    signal: Signal,
    graph: &OperationalGraph,
    objects: &Objects,
) -> Option<&'static str> {
    if !matches!(signal, Signal::Availability | Signal::Traffic | Signal::Other) {
        return None;
    }
    let history = objects.histories.get(entity)?;
    match names::kind_of(entity) {
        "Pod" if is_done(history, "/status/phase", "Succeeded") => Some("its pod ran to its end"),
        "Job" if is_complete(history) => Some("its job is complete"),
        "CronJob" if ran_as_planned(history) => Some("it ran as planned"),
        "Deployment" | "StatefulSet" | "Rollout" | "DeploymentConfig"
            if is_off(history) && !is_needed(entity, graph) =>
        {
            Some("it is scaled to 0 in the whole recording, and nothing recorded depends on it")
        }
        _ => None,
    }
}

fn is_done(history: &ObjectHistory, pointer: &str, state: &str) -> bool {
    history.latest().and_then(|object| text(object, pointer)) == Some(state)
}

fn is_complete(history: &ObjectHistory) -> bool {
    is_true(history.latest().and_then(|object| condition(object, "Complete")))
}

/// Whether the last run that was planned ended well, and none is under way.
fn ran_as_planned(history: &ObjectHistory) -> bool {
    let time = |place: &str| moment(history.latest()?, place);
    let planned_and_done = time("/status/lastScheduleTime").zip(time("/status/lastSuccessfulTime"));
    planned_and_done.is_some_and(|(planned, done)| done >= planned)
}

/// Whether a workload was wanted with no replicas in every dump: it was not switched off meanwhile.
fn is_off(history: &ObjectHistory) -> bool {
    let wanted = |object: &Value| object.pointer("/spec/replicas").and_then(Value::as_u64);
    !history.states.is_empty() && history.states.iter().all(|one| wanted(&one.object) == Some(0))
}

/// Whether anything calls or uses what a workload serves.
fn is_needed(workload: &EntityId, graph: &OperationalGraph) -> bool {
    let backs = |edge: &&Edge| edge.relation == relation::BACKS && edge.source == *workload;
    let mut services = graph.topology().edges_at(workload).filter(backs);
    services.any(|backed| {
        let asks = [relation::CALLS, relation::USES, relation::ROUTES, relation::SENDS_LOAD];
        graph
            .topology()
            .edges_at(&backed.target)
            .any(|edge| edge.target == backed.target && asks.contains(&edge.relation.as_str()))
    })
}
