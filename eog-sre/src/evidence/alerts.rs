//! Alerts: which count, on which entity, what they speak of, and when they began.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::{EvidenceTime, Quantity};
use eog_core::{Anomaly, EntityId, EvidenceKind, Window};
use jiff::SignedDuration;

use super::at_rest::as_wanted;
use super::passing::Watch;
use super::spoken::{praises, signal_of, trend_of};
use super::{Draft, selector};
use crate::facts::Alerts;
use crate::graph::{Match, OperationalGraph};
use crate::names;
use crate::read::{AlertRecord, Objects};

/// Alerts about the alerting itself and about the platform's certificates.
const NOISE: [&str; 3] = ["Watchdog", "InfoInhibitor", "KubeClientCertificateExpiration"];

/// Labels that name the subject of an alert, with its kind. Those before `service` come first
/// because `service` often names who scraped the value.
const SUBJECTS: [(&str, &str); 13] = [
    ("service_name", "Service"),
    ("deployment", "Deployment"),
    ("statefulset", "StatefulSet"),
    ("daemonset", "DaemonSet"),
    ("job_name", "Job"),
    ("cronjob", "CronJob"),
    ("horizontalpodautoscaler", "HorizontalPodAutoscaler"),
    ("poddisruptionbudget", "PodDisruptionBudget"),
    ("resourcequota", "ResourceQuota"),
    ("persistentvolumeclaim", "PersistentVolumeClaim"),
    ("pod", "Pod"),
    ("service", "Service"),
    ("node", "Node"),
];

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
            let reason = reason_to_ignore(record).unwrap_or("no label names what it is about");
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

/// The entity that an alert is about: of the labels that name one, the first whose entity is in
/// the graph, else the first.
pub(crate) fn entity_of(record: &AlertRecord, graph: &OperationalGraph) -> Option<EntityId> {
    let namespace = record.label("namespace");
    let named = SUBJECTS.iter().filter_map(|(label, kind)| {
        let name = Some(record.label(label)).filter(|name| !name.is_empty())?;
        match *kind {
            "Node" => names::entity("", kind, name),
            "Service" => {
                let space = match namespace {
                    "" => graph.index.namespace_of(name),
                    given => given.to_owned(),
                };
                graph.index.service(&space, name)
            }
            kind => {
                let space = match namespace {
                    "" => graph.index.namespace_of(name),
                    given => given.to_owned(),
                };
                match graph.index.find(&space, name) {
                    Match::Known(known) if kind == "Deployment" => {
                        names::entity(&space, kind, &known)
                            .filter(|entity| graph.topology().contains(entity))
                            .or_else(|| names::entity(&space, kind, name))
                    }
                    _ => names::entity(&space, kind, name),
                }
            }
        }
    });
    let named: Vec<EntityId> = named.collect();
    let in_graph = named.iter().find(|entity| graph.topology().contains(entity));
    let whole = || match namespace {
        "" => None,
        namespace => names::entity("", "Namespace", namespace),
    };
    in_graph.or(named.first()).cloned().or_else(whole)
}
