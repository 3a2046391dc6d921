//! Alerts: which count, on which entity, what they speak of, and when they began.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::{EvidenceTime, Quantity};
use eog_core::{Anomaly, EntityId, EvidenceKind, Window};
use eog_evidence::near_entities;
use jiff::SignedDuration;

use super::at_rest::as_wanted;
use super::passing::Watch;
use super::spoken::{praises, signal_of, trend_of};
use super::{Draft, selector};
use crate::facts::Alerts;
use crate::graph::{Match, OperationalGraph};
use crate::names::{self, WORKLOAD_KINDS};
use crate::read::{AlertRecord, Objects};
use crate::subject::{Resolution, SERVICE_LABELS, Subject, resolve};

/// Alerts about the alerting itself and about the platform's certificates.
const NOISE: [&str; 3] = ["Watchdog", "InfoInhibitor", "KubeClientCertificateExpiration"];

/// Sorts the alert dumps of a snapshot out.
///
/// Alerts of one name on one entity are one anomaly: it begins with the earliest activation, is
/// renewed at every later one, and was last seen in the latest dump in which it fired.
/// One that came and went, while others last that began in the recording, is no anomaly; neither is
/// one that has just begun long after those: it may pass by itself as well.
pub(crate) fn alert_findings(
    records: &[AlertRecord],
    graph: &OperationalGraph,
    objects: &Objects,
) -> Alerts {
    let mut groups: BTreeMap<(EntityId, String), Vec<&AlertRecord>> = BTreeMap::new();
    let mut ignored = BTreeSet::new();
    let mut pending: BTreeSet<(EntityId, String)> = BTreeSet::new();
    for record in records {
        let Some(entity) = entity_of(record, graph) else {
            let reason =
                reason_to_ignore(record).map_or_else(|| nothing_named(record), str::to_owned);
            ignored.insert(format!("{}: {reason}", record.name));
            continue;
        };
        let as_wanted = || as_wanted(&entity, signal_of(&record.name), graph, objects);
        if let Some(reason) = reason_to_ignore(record).or_else(as_wanted) {
            ignored.insert(format!("{} on {entity}: {reason}", record.name));
        } else if record.state != "firing" {
            pending.insert((entity, record.name.clone()));
        } else {
            groups.entry((entity, record.name.clone())).or_default().push(record);
        }
    }
    pending.retain(|key| !groups.contains_key(key));
    ignored.extend(
        pending.into_iter().map(|(entity, name)| format!("{name} on {entity}: never fired")),
    );
    // What lasts is what the incident is about: then an alert that comes and goes needs no cause.
    let watch = Watch::of(records);
    let lasting = watch.filter(|watch| groups.values().any(|one| watch.lasts(one)));
    let settled =
        watch.and_then(|watch| Some((watch, watch.settled(groups.values().map(Vec::as_slice))?)));
    let mut alerts = Alerts::default();
    for ((entity, name), firing) in groups {
        let passes = lasting.is_some_and(|watch| watch.passes(&firing));
        if passes {
            ignored.insert(format!("{name} on {entity}: it came and went while other alerts last"));
        }
        let young = !passes && settled.is_some_and(|(watch, at)| watch.is_young(&firing, at));
        if young {
            ignored.insert(format!(
                "{name} on {entity}: it has just begun, long after other alerts that last"
            ));
        }
        alerts.add(entity, name, &firing, passes || young);
    }
    alerts.ignored = ignored.into_iter().collect();
    alerts
        .anomalies
        .sort_by(|a, b| (a.onset, &a.entity, &a.name).cmp(&(b.onset, &b.entity, &b.name)));
    alerts
}

impl Alerts {
    /// Adds what an alert says of its entity, and unless it passed by itself, the anomaly.
    fn add(&mut self, entity: EntityId, name: String, records: &[&AlertRecord], passes: bool) {
        let onsets: BTreeSet<_> = records.iter().map(|record| record.active_at).collect();
        let mut onsets = onsets.into_iter();
        let Some(onset) = onsets.next() else { return };
        let renewed: Vec<_> = onsets.collect();
        let last_seen = records.iter().filter_map(|record| record.seen_at).max();
        let Some(latest) = records.iter().max_by_key(|record| (record.seen_at, record.active_at))
        else {
            return;
        };
        let signal = signal_of(&name);
        let end = last_seen.max(renewed.last().copied()).unwrap_or(onset).max(onset);
        let end = end.checked_add(SignedDuration::from_secs(1)).unwrap_or(end);
        let again = match renewed.as_slice() {
            [] => String::new(),
            [once] => format!("; renewed at {once}"),
            [.., last] => format!("; renewed {} times, last at {last}", renewed.len()),
        };
        let value = records.iter().filter_map(|record| record.value).max_by(f64::total_cmp);
        let draft = Draft {
            entity: &entity,
            kind: EvidenceKind::Alert,
            signal,
            trend: trend_of(&name, signal),
            time: Window::new(onset, end).map_or(EvidenceTime::At(onset), EvidenceTime::During),
            quantity: value.map(|observed| Quantity {
                observed,
                baseline: None,
                unit: "value".into(),
            }),
            peer: None,
            source: &latest.file,
            query: format!("alerts alertname={name} {}", selector(&entity)),
            excerpt: format!("{name} since {onset}{again}: {}", latest.description),
            // When a rule fired is no onset of what it watches.
            onset: None,
        };
        self.findings.push(draft.finding());
        if passes {
            return;
        }
        self.anomalies.push(Anomaly {
            severity: latest.label("severity").to_owned(),
            description: latest.description.clone(),
            name,
            entity,
            signal,
            onset,
            renewed,
            last_seen,
        });
    }
}

/// Why an alert is no anomaly, if it is none.
pub(crate) fn reason_to_ignore(record: &AlertRecord) -> Option<&'static str> {
    if NOISE.contains(&record.name.as_str()) {
        return Some("an alert of the platform about itself");
    }
    if record.label("severity") == "none" {
        return Some("its severity is none");
    }
    let is_good = praises(&record.name, &record.description);
    is_good.then_some("it says that things go well")
}

/// Why nothing is known of what an alert is about.
fn nothing_named(record: &AlertRecord) -> String {
    let labels: Vec<&str> = record.labels.keys().map(String::as_str).collect();
    format!("no label names what it is about; it has {}", labels.join(", "))
}

/// The entity that an alert is about, whether the graph has it or not.
pub(crate) fn entity_of(record: &AlertRecord, graph: &OperationalGraph) -> Option<EntityId> {
    match about(record, graph) {
        Resolution::Known { entity, .. } => Some(entity),
        Resolution::Unknown(subject) => named(&subject, graph),
        Resolution::Nothing => None,
    }
}

/// What an alert is about, by the rules that hold for all alerts.
fn about(record: &AlertRecord, graph: &OperationalGraph) -> Resolution<EntityId> {
    let said: Vec<&str> = record.said.iter().map(String::as_str).collect();
    let known = |subject: &Subject| known(subject, graph);
    resolve(&record.labels, &said, &SERVICE_LABELS, &known, graph.plain_names())
}

/// The entity of the graph that a label names.
fn known(subject: &Subject, graph: &OperationalGraph) -> Option<EntityId> {
    let is_there = |entity: &EntityId| graph.topology().contains(entity);
    let space = match subject.namespace.as_str() {
        "" => graph.index.namespace_of(&subject.name),
        given => given.to_owned(),
    };
    let name = subject.name.as_str();
    let of_kind = |kind: &str| names::entity(&space, kind, name).filter(is_there);
    let alike = || match graph.index.find(&space, name) {
        Match::Known(known) => WORKLOAD_KINDS
            .iter()
            .chain(&["Service"])
            .find_map(|kind| names::entity(&space, kind, &known).filter(is_there)),
        _ => None,
    };
    match subject.kind {
        "Node" => names::entity("", "Node", name).filter(is_there),
        "Namespace" => named(subject, graph).filter(is_there),
        "Service" => named(subject, graph).filter(is_there),
        "" => {
            let service = graph.index.service(&space, name).filter(is_there);
            let host = || names::entity("", "Node", name).filter(is_there);
            service.or_else(host).or_else(|| graph.plain_names().get(name).cloned())
        }
        // A label may call any workload by the kind that most are of.
        "Deployment" => WORKLOAD_KINDS.iter().find_map(|kind| of_kind(kind)).or_else(alike),
        kind => of_kind(kind),
    }
}

/// The entity that a label names, whether there is one or not.
fn named(subject: &Subject, graph: &OperationalGraph) -> Option<EntityId> {
    let space = match subject.namespace.as_str() {
        "" => graph.index.namespace_of(&subject.name),
        given => given.to_owned(),
    };
    match subject.kind {
        "Node" | "Namespace" => names::entity("", subject.kind, &subject.name),
        "" | "Service" => graph.index.service(&space, &subject.name),
        kind => names::entity(&space, kind, &subject.name),
    }
}

/// Alerts on what the graph does not have: nothing that depends on it is known.
pub(crate) fn strangers(records: &[AlertRecord], graph: &OperationalGraph) -> Vec<String> {
    let mut warnings = BTreeSet::new();
    for record in records.iter().filter(|it| reason_to_ignore(it).is_none()) {
        let Resolution::Unknown(subject) = about(record, graph) else { continue };
        let Some(entity) = named(&subject, graph) else { continue };
        let near = near_entities(graph.topology(), entity.as_str());
        let meant = match near.as_slice() {
            [] => String::new(),
            names => format!("; the nearest names are {}", names.join(", ")),
        };
        warnings.insert(format!(
            "alert {} names {entity} by its label {}, and nothing of that name was recorded{meant}",
            record.name, subject.label
        ));
    }
    warnings.into_iter().collect()
}
