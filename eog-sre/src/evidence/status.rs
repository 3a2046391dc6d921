//! Findings from the status of objects: conditions that turned bad, lost replicas, restarts, limits
//! that were reached.

use eog_core::evidence::{EvidenceTime, Quantity, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp};
use eog_evidence::shorten;
use serde_json::Value;

use super::levels::{blames_node, levels, node_of};
use super::{Draft, selector};
use crate::graph::is_experiment;
use crate::json::{condition as condition_of, list, moment, since, text, word};
use crate::names;
use crate::read::{Objects, Observation};

/// Conditions that should be true.
const GOOD: [&str; 4] = ["Available", "Ready", "ContainersReady", "Initialized"];

/// Conditions that should be false.
const BAD: [&str; 6] = [
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
    "ReplicaFailure",
    "Failed",
];

/// Conditions of autoscalers that should be true: whether they can read their metrics and scale.
/// Where it never was so, as in clusters without a metrics server, it explains nothing new.
const SCALING: [&str; 2] = ["ScalingActive", "AbleToScale"];

/// Reports of status transitions between dumps, for every object.
pub(crate) fn status_findings(objects: &Objects) -> Vec<Finding> {
    let mut findings = Vec::new();
    let source = if objects.file.is_empty() { "k8s_objects" } else { &objects.file };
    let began = objects.recorded().map(|recorded| recorded.start());
    for (entity, history) in &objects.histories {
        let mut report = Report { source, entity, findings: &mut findings };
        for (at, state) in history.states.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| history.states.get(at));
            report.conditions(before, state);
            report.containers(before, state);
            report.levels(before, state, began);
            if let Some(before) = before {
                report.replicas(before, state);
            }
        }
    }
    findings.sort_by_key(|finding| finding.time.start());
    findings.dedup_by(|a, b| a.id() == b.id());
    findings
}

struct Report<'a> {
    source: &'a str,
    entity: &'a EntityId,
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    fn conditions(&mut self, before: Option<&Observation>, state: &Observation) {
        let runs = is_experiment(&state.object);
        let seen = appeared(before, state);
        for condition in list(&state.object, "/status/conditions") {
            let (kind, status) = (word(condition, "/type"), word(condition, "/status"));
            let old = before.and_then(|before| condition_of(&before.object, kind));
            if runs {
                let is_new = old.is_none_or(|old| word(old, "/status") != status);
                if kind == "AllInjected" && status == "True" && is_new {
                    let said = "the experiment ran: its faults are injected".to_owned();
                    let when = injected(&state.object, seen);
                    self.push(Signal::Experiment, Trend::Steady, when, kind, said, None);
                }
                continue;
            }
            let began = since(condition);
            let at = began.unwrap_or(state.first_seen);
            let when = began.map_or(seen, |at| (at, Some(Onset::at(at))));
            let (is_good, is_bad) = (GOOD.contains(&kind), BAD.contains(&kind));
            let holds_well = (is_good && status == "True") || (is_bad && status == "False");
            let reason = word(condition, "/reason");
            let message = shorten(word(condition, "/message"), 160);
            if (is_good || is_bad) && !holds_well {
                let pressure = kind.ends_with("Pressure");
                let signal = if pressure { Signal::Exhaustion } else { Signal::Availability };
                // Finished pods are not ready, and nothing is wrong with them.
                if reason != "PodCompleted" && old.is_none_or(|old| word(old, "/status") != status)
                {
                    let said = format!("{kind} is {status} since {at}: {reason} {message}");
                    self.push(signal, Trend::Rising, when, kind, said, None);
                }
                continue;
            }
            // A workload at zero replicas switches its autoscaler off.
            let turned = old.is_some_and(|old| word(old, "/status") == "True");
            if SCALING.contains(&kind) && status == "False" && turned && reason != "ScalingDisabled"
            {
                let said = format!("{kind} is {status} since {at}: {reason} {message}");
                self.push(Signal::Availability, Trend::Rising, when, kind, said, None);
            }
            // True in both dumps, but with a younger date: it was not true in between.
            let flipped = old
                .filter(|old| word(old, "/status") == status)
                .is_some_and(|old| since(old).is_some_and(|old| old < at));
            if flipped && kind == "Available" {
                let said = format!("{kind} became {status} again at {at}: it was not for a while");
                self.push(Signal::Restart, Trend::Steady, when, kind, said, None);
            }
        }
    }

    fn replicas(&mut self, before: &Observation, state: &Observation) {
        let ready = |state: &Observation| {
            let status = state.object.get("status")?;
            status.get("replicas")?;
            Some(status.get("readyReplicas").and_then(Value::as_f64).unwrap_or(0.0))
        };
        let wanted = |state: &Observation| {
            state.object.pointer("/spec/replicas").and_then(Value::as_f64).unwrap_or(1.0)
        };
        if let (Some(old), Some(new)) = (ready(before), ready(state))
            && new < old
            && new < wanted(state)
        {
            let quantity = Quantity { observed: new, baseline: Some(old), unit: "count".into() };
            let said = format!("ready replicas fell from {old} to {new}, wanted {}", wanted(state));
            let when = appeared(Some(before), state);
            self.push(
                Signal::Availability,
                Trend::Falling,
                when,
                "readyReplicas",
                said,
                Some(quantity),
            );
        }
    }

    fn containers(&mut self, before: Option<&Observation>, state: &Observation) {
        let seen = appeared(before, state);
        for container in list(&state.object, "/status/containerStatuses") {
            let name = word(container, "/name");
            let count = |container: &Value| container.get("restartCount").and_then(Value::as_u64);
            let old = before.and_then(|before| {
                let mut old = list(&before.object, "/status/containerStatuses");
                old.find(|old| word(old, "/name") == name)
            });
            let waiting = text(container, "/state/waiting/reason");
            let waited = old.and_then(|old| text(old, "/state/waiting/reason"));
            if let Some(reason) = waiting.filter(|reason| waited != Some(reason))
                && !["ContainerCreating", "PodInitializing"].contains(&reason)
            {
                let said = format!("container {name} waits: {reason}");
                self.push(Signal::Availability, Trend::Rising, seen, name, said, None);
            }
            let (now, then) = (count(container).unwrap_or(0), old.and_then(count).unwrap_or(0));
            let restarted = now > then && old.is_some();
            let Some(end) = container.pointer("/lastState/terminated").filter(|_| restarted) else {
                continue;
            };
            let reason = word(end, "/reason");
            let code = end.get("exitCode").and_then(Value::as_i64).unwrap_or(0);
            let signal = match (reason, code) {
                ("OOMKilled", _) => Signal::Exhaustion,
                ("Completed", _) | (_, 0) => Signal::Restart,
                _ => Signal::Availability,
            };
            // The last end is reported. Of several since the dump before, the first one is not.
            let when = match moment(end, "/finishedAt") {
                Some(at) if now - then == 1 => (at, Some(Onset::at(at))),
                Some(at) => (at, before.map(|old| Onset::between(old.last_seen, at))),
                None => seen,
            };
            let said = format!(
                "container {name} ended with {reason} (exit code {code}); restarts {then} to {now}"
            );
            let quantity = Quantity {
                observed: now as f64,
                baseline: Some(then as f64),
                unit: "count".into(),
            };
            self.push(signal, Trend::Rising, when, name, said, Some(quantity));
        }
    }

    /// What the object is at the limit of. What was so when the recording began is reported as steady.
    fn levels(
        &mut self,
        before: Option<&Observation>,
        state: &Observation,
        began: Option<Timestamp>,
    ) {
        let kind = names::kind_of(self.entity);
        // An equal state is stored once: what only time brings shows at the end of it.
        let Some(level) = levels(kind, &state.object, state.last_seen) else { return };
        let old = before.and_then(|old| levels(kind, &old.object, old.last_seen));
        if old.is_some_and(|old| old.field == level.field) {
            return;
        }
        let recorded = level.since.filter(|at| Some(*at) >= began);
        let came = before.is_some() || Some(state.first_seen) > began || recorded.is_some();
        let trend = if came { Trend::Rising } else { Trend::Steady };
        let signal = if came { level.signal } else { Signal::Other };
        let when = level.since.map_or(appeared(before, state), |at| (at, Some(Onset::at(at))));
        if let Some(node) = node_of(&state.object).filter(|_| came && blames_node(&level.said)) {
            let said = format!("{} was {}", self.entity, level.said);
            let mut of_node =
                Report { entity: &node, source: self.source, findings: self.findings };
            of_node.push(signal, trend, when, level.field, said, None);
        }
        self.push(signal, trend, when, level.field, level.said, level.quantity);
    }

    fn push(
        &mut self,
        signal: Signal,
        trend: Trend,
        (at, onset): (Timestamp, Option<Onset>),
        field: &str,
        excerpt: String,
        quantity: Option<Quantity>,
    ) {
        let draft = Draft {
            entity: self.entity,
            kind: EvidenceKind::Event,
            signal,
            trend,
            time: EvidenceTime::At(at),
            quantity,
            peer: None,
            source: self.source,
            query: format!("{} {} field=status {field}", self.source, selector(self.entity)),
            excerpt,
            onset,
        };
        self.findings.push(draft.finding());
    }
}

/// The first dump that shows something, and the time since the dump before, within which it came.
fn appeared(before: Option<&Observation>, state: &Observation) -> (Timestamp, Option<Onset>) {
    let onset = before.map(|before| Onset::between(before.last_seen, state.first_seen));
    (state.first_seen, onset)
}

/// When an experiment of Chaos Mesh injected its first fault: as it recorded itself, else between its
/// creation and the dump that shows it.
fn injected(experiment: &Value, seen: (Timestamp, Option<Onset>)) -> (Timestamp, Option<Onset>) {
    let records = list(experiment, "/status/experiment/containerRecords");
    let applied = records.flat_map(|record| list(record, "/events")).filter(|event| {
        (word(event, "/operation"), word(event, "/type")) == ("Apply", "Succeeded")
    });
    let first = applied.filter_map(|event| moment(event, "/timestamp")).min();
    if let Some(first) = first {
        return (first, Some(Onset::at(first)));
    }
    let created = moment(experiment, "/metadata/creationTimestamp");
    let created = created.map(|created| Onset::between(created, seen.0));
    (seen.0, seen.1.or(created))
}
