//! What state an object of Kubernetes says that it is in.

use eog_core::Timestamp;
use eog_evidence::{ObjectState, StateRecord, mask_text, shorten};
use serde_json::Value;

use crate::json::{self, condition, is_true, list, moment, word};
use crate::names;
use crate::snapshot::Snapshot;

/// Longest reason, in characters.
const MAX_REASON: usize = 200;

/// What keeps a container from running that passes by itself, mostly.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// What state an object says that it is in, why, and since when if it says so; nothing of a kind that has no state.
///
/// ```
/// use eog_evidence::ObjectState;
/// use eog_sre::object_state;
/// let pod = serde_json::json!({"status": {"phase": "Running", "conditions": [
///     {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T10:00:00Z"}]}});
/// let (state, _, since) = object_state("Pod", &pod).unwrap();
/// assert_eq!((state, since), (ObjectState::Ready, "2026-01-01T10:00:00Z".parse().ok()));
/// ```
pub fn object_state(
    kind: &str,
    object: &Value,
) -> Option<(ObjectState, String, Option<Timestamp>)> {
    let (state, reason, since) = match kind {
        "Pod" => pod(object),
        "Deployment" => replicas(object, "/spec/replicas", "/status/readyReplicas"),
        "StatefulSet" => replicas(object, "/spec/replicas", "/status/readyReplicas"),
        "DaemonSet" => replicas(object, "/status/desiredNumberScheduled", "/status/numberReady"),
        "Job" => job(object),
        "Node" => node(object),
        "PersistentVolumeClaim" | "PersistentVolume" => phase(object),
        "HorizontalPodAutoscaler" => autoscaler(object),
        _ => return None,
    }?;
    Some((state, shorten(&mask_text(&reason), MAX_REASON), since))
}

type State = Option<(ObjectState, String, Option<Timestamp>)>;

fn since(condition: Option<&Value>) -> Option<Timestamp> {
    condition.and_then(json::since)
}

fn pod(object: &Value) -> State {
    let ready = condition(object, "Ready");
    let at = since(ready);
    match word(object, "/status/phase") {
        "Succeeded" => return Some((ObjectState::Done, "Completed".to_owned(), at)),
        "Failed" => {
            let reason = word(object, "/status/reason");
            let reason = if reason.is_empty() { "Failed" } else { reason };
            return Some((ObjectState::Failing, reason.to_owned(), at));
        }
        "" if ready.is_none() => return None,
        _ => {}
    }
    if is_true(ready) {
        return Some((ObjectState::Ready, String::new(), at));
    }
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return Some((ObjectState::Pending, "Terminating".to_owned(), at));
    }
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let statuses = statuses.into_iter().flat_map(|at| list(object, at));
    let mut is_starting = false;
    for status in statuses {
        let waiting = word(status, "/state/waiting/reason");
        if STARTING.contains(&waiting) {
            is_starting = true;
            continue;
        }
        let code = status.pointer("/state/terminated/exitCode").and_then(Value::as_i64);
        let ended =
            code.filter(|code| *code != 0).map(|_| word(status, "/state/terminated/reason"));
        if let Some(reason) = Some(waiting).filter(|it| !it.is_empty()).or(ended) {
            return Some((ObjectState::Failing, reason.to_owned(), at));
        }
    }
    let scheduled = condition(object, "PodScheduled");
    if scheduled.is_some() && !is_true(scheduled) {
        let reason = scheduled.map_or("", |it| word(it, "/reason")).to_owned();
        return Some((ObjectState::Failing, reason, since(scheduled)));
    }
    if is_starting {
        return Some((ObjectState::Pending, "ContainerCreating".to_owned(), at));
    }
    let reason = ready.map_or("NotReady", |it| word(it, "/reason")).to_owned();
    let state = match word(object, "/status/phase") {
        "Pending" => ObjectState::Pending,
        _ => ObjectState::Failing,
    };
    Some((state, reason, at))
}

fn replicas(object: &Value, wanted: &str, ready: &str) -> State {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_u64);
    object.get("status")?;
    let wanted = number(wanted).unwrap_or(1);
    let ready = number(ready).unwrap_or(0);
    let available = condition(object, "Available");
    if wanted == 0 {
        return Some((ObjectState::Done, "no replicas wanted".to_owned(), None));
    }
    let replicas = format!("{ready} of {wanted} replicas ready");
    let stuck = condition(object, "Progressing").filter(|it| word(it, "/status") == "False");
    let reason =
        stuck.map_or(replicas.clone(), |it| format!("{replicas}: {}", word(it, "/reason")));
    match ready >= wanted {
        true => Some((ObjectState::Ready, String::new(), since(available))),
        false => Some((ObjectState::Failing, reason, since(stuck.or(available)))),
    }
}

fn job(object: &Value) -> State {
    let (complete, failed) = (condition(object, "Complete"), condition(object, "Failed"));
    if is_true(complete) {
        return Some((ObjectState::Done, "Complete".to_owned(), since(complete)));
    }
    if is_true(failed) {
        let reason = failed.map_or("Failed", |it| word(it, "/reason")).to_owned();
        return Some((ObjectState::Failing, reason, since(failed)));
    }
    object.get("status")?;
    Some((ObjectState::Pending, String::new(), None))
}

fn node(object: &Value) -> State {
    let ready = condition(object, "Ready")?;
    if !is_true(Some(ready)) {
        let reason = word(ready, "/reason").to_owned();
        return Some((ObjectState::Failing, reason, since(Some(ready))));
    }
    let pressures = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
    let pressed = pressures.iter().find(|kind| is_true(condition(object, kind)));
    if let Some(kind) = pressed {
        return Some((ObjectState::Failing, (*kind).to_owned(), since(condition(object, kind))));
    }
    Some((ObjectState::Ready, String::new(), since(Some(ready))))
}

fn phase(object: &Value) -> State {
    let phase = word(object, "/status/phase");
    let state = match phase {
        "Bound" | "Available" => ObjectState::Ready,
        "Pending" => ObjectState::Pending,
        "Lost" | "Failed" => ObjectState::Failing,
        "Released" => ObjectState::Done,
        _ => return None,
    };
    let reason = if state == ObjectState::Ready { "" } else { phase };
    Some((state, reason.to_owned(), moment(object, "/status/lastPhaseTransitionTime")))
}

fn autoscaler(object: &Value) -> State {
    for kind in ["AbleToScale", "ScalingActive"] {
        let found = condition(object, kind);
        if found.is_some() && !is_true(found) {
            let reason = found.map_or("", |it| word(it, "/reason")).to_owned();
            return Some((ObjectState::Failing, reason, since(found)));
        }
    }
    let active = condition(object, "ScalingActive")?;
    Some((ObjectState::Ready, String::new(), since(Some(active))))
}

impl Snapshot {
    /// What state each object was in over time and at the end, by its dumps and by what it says since when it is so.
    /// By entity and time.
    pub fn states(&self) -> Vec<StateRecord> {
        let mut all = Vec::new();
        for (entity, history) in &self.objects.histories {
            let kind = names::kind_of(entity);
            for seen in &history.states {
                let Some((state, reason, since)) = object_state(kind, &seen.object) else {
                    continue;
                };
                let since = since.filter(|since| *since < seen.first_seen);
                for time in
                    [since, Some(seen.first_seen), Some(seen.last_seen)].into_iter().flatten()
                {
                    let (entity, reason) = (entity.clone(), reason.clone());
                    all.push(StateRecord { time, entity, state, reason });
                }
            }
            if let Some(time) = history.deleted {
                let (entity, state) = (entity.clone(), ObjectState::Gone);
                all.push(StateRecord { time, entity, state, reason: "deleted".to_owned() });
            }
        }
        all.sort_unstable_by(|a, b| {
            (&a.entity, a.time, a.state).cmp(&(&b.entity, b.time, b.state))
        });
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_say_what_they_are_in() {
        let at = "2026-01-01T10:00:00Z";
        let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": at});
        let pod = |phase: &str, ready: &str, container: Value| {
            json!({"status": {"phase": phase,
            "conditions": [condition("PodScheduled", "True", ""), condition("Ready", ready, "ContainersNotReady")],
            "containerStatuses": [container]}})
        };
        let waits = |reason: &str| json!({"state": {"waiting": {"reason": reason}}});
        use ObjectState::{Done, Failing, Pending, Ready};
        let cases = [
            ("Pod", pod("Running", "True", json!({})), Some((Ready, ""))),
            (
                "Pod",
                pod("Running", "False", waits("CrashLoopBackOff")),
                Some((Failing, "CrashLoopBackOff")),
            ),
            (
                "Pod",
                pod("Pending", "False", waits("ContainerCreating")),
                Some((Pending, "ContainerCreating")),
            ),
            (
                "Pod",
                pod("Pending", "False", waits("ImagePullBackOff")),
                Some((Failing, "ImagePullBackOff")),
            ),
            (
                "Pod",
                pod(
                    "Running",
                    "False",
                    json!({"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}),
                ),
                Some((Failing, "OOMKilled")),
            ),
            (
                "Pod",
                pod("Running", "False", json!({"state": {"running": {}}})),
                Some((Failing, "ContainersNotReady")),
            ),
            (
                "Pod",
                json!({"status": {"phase": "Pending", "conditions": [condition("PodScheduled", "False", "Unschedulable")]}}),
                Some((Failing, "Unschedulable")),
            ),
            ("Pod", json!({"status": {"phase": "Succeeded"}}), Some((Done, "Completed"))),
            (
                "Pod",
                json!({"status": {"phase": "Failed", "reason": "Evicted"}}),
                Some((Failing, "Evicted")),
            ),
            ("Pod", json!({}), None),
            (
                "Deployment",
                json!({"spec": {"replicas": 2}, "status": {"readyReplicas": 2}}),
                Some((Ready, "")),
            ),
            (
                "Deployment",
                json!({"spec": {"replicas": 2}, "status": {"readyReplicas": 1}}),
                Some((Failing, "1 of 2 replicas ready")),
            ),
            (
                "Deployment",
                json!({"spec": {"replicas": 0}, "status": {}}),
                Some((Done, "no replicas wanted")),
            ),
            (
                "DaemonSet",
                json!({"status": {"desiredNumberScheduled": 3, "numberReady": 2}}),
                Some((Failing, "2 of 3 replicas ready")),
            ),
            (
                "Job",
                json!({"status": {"conditions": [condition("Failed", "True", "BackoffLimitExceeded")]}}),
                Some((Failing, "BackoffLimitExceeded")),
            ),
            (
                "Job",
                json!({"status": {"conditions": [condition("Complete", "True", "")]}}),
                Some((Done, "Complete")),
            ),
            (
                "Node",
                json!({"status": {"conditions": [condition("Ready", "Unknown", "NodeStatusUnknown")]}}),
                Some((Failing, "NodeStatusUnknown")),
            ),
            (
                "Node",
                json!({"status": {"conditions": [condition("Ready", "True", ""), condition("DiskPressure", "True", "")]}}),
                Some((Failing, "DiskPressure")),
            ),
            (
                "PersistentVolumeClaim",
                json!({"status": {"phase": "Lost"}}),
                Some((Failing, "Lost")),
            ),
            (
                "HorizontalPodAutoscaler",
                json!({"status": {"conditions": [condition("ScalingActive", "False", "FailedGetResourceMetric")]}}),
                Some((Failing, "FailedGetResourceMetric")),
            ),
            ("ConfigMap", json!({"data": {}}), None),
        ];
        for (kind, object, expected) in cases {
            let found = object_state(kind, &object).map(|(state, reason, _)| (state, reason));
            let expected = expected.map(|(state, reason)| (state, reason.to_owned()));
            assert_eq!(found, expected, "{kind} {object}");
        }
    }
}
