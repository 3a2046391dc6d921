//! Namespaces as a whole: what limits one acts on everything in it, and an alert about one is about
//! what it holds.
//!
//! A namespace is joined with its contents only where there is a reason. A hub that always connects
//! everything would make everything a suspect.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::incident::Edge;
use eog_core::incident::EffectDirection::{Both, SourceToTarget, TargetToSource};
use eog_core::{EntityId, Topology};

use super::OperationalGraph;
use super::builder::Builder;
use super::relation;
use crate::evidence::{entity_of, reason_to_ignore, used_up};
use crate::names::{self, WORKLOAD_KINDS};
use crate::read::{EventRecord, ObjectHistory};
use crate::snapshot::Snapshot;

/// Kinds of objects that limit what may run in their namespace.
const LIMITS: [&str; 2] = ["ResourceQuota", "LimitRange"];

/// Kinds that set how much of something there may be, or that guard it: what they govern affects
/// them as well, which matters where they have an alert of their own.
const GOVERNORS: [&str; 6] = [
    "ResourceQuota",
    "LimitRange",
    "HorizontalPodAutoscaler",
    "VerticalPodAutoscaler",
    "ScaledObject",
    "PodDisruptionBudget",
];

/// What a namespace holds besides workloads that makes pods, or is one, where nobody owns it.
const RUNS_PODS: [&str; 4] = ["ReplicaSet", "Job", "CronJob", "Pod"];

impl Builder {
    /// Joins each namespace on which something acts with what limits it and with what it holds.
    pub(super) fn add_namespaces(&mut self, snapshot: &Snapshot) {
        let refused = snapshot.events.iter().filter_map(Refused::of);
        let refused: BTreeSet<Refused<'_>> = refused.collect();
        let mut acting: BTreeSet<EntityId> = BTreeSet::new();
        let mut ranges: BTreeMap<String, Vec<EntityId>> = BTreeMap::new();
        for entity in snapshot.objects.histories.keys() {
            let home = names::namespace_of(entity).filter(|_| names::kind_of(entity) == LIMITS[1]);
            if let Some(home) = home {
                ranges.entry(home.to_owned()).or_default().push(entity.clone());
            }
        }
        for Refused { namespace, by, of } in refused {
            let limits: Vec<EntityId> = match by {
                By::Quota(name) => names::entity(namespace, LIMITS[0], name).into_iter().collect(),
                By::Range => ranges.get(namespace).cloned().unwrap_or_default(),
                By::Namespace => names::entity("", "Namespace", namespace).into_iter().collect(),
            };
            let stopped = self.top_owner(of);
            for limit in limits {
                let to = Some(stopped.clone());
                self.connect(Some(limit.clone()), relation::RESTRICTS, to, SourceToTarget);
                acting.insert(limit);
            }
        }
        let began = snapshot.objects.recorded().map(|recorded| recorded.start());
        for (entity, history) in &snapshot.objects.histories {
            let is_new = || {
                let created = history.latest()?.pointer("/metadata/creationTimestamp")?.as_str()?;
                Some(crate::time::parse(created)? > began?)
            };
            let acts = match names::kind_of(entity) {
                "Namespace" => differs(history, &["metadata/labels", "metadata/annotations"]),
                kind if LIMITS.contains(&kind) => {
                    history.deleted.is_some()
                        || is_new() == Some(true)
                        || differs(history, &["spec"])
                        || history.states.iter().any(|state| used_up(&state.object).is_some())
                }
                _ => false,
            };
            if acts {
                acting.insert(entity.clone());
            }
        }
        let mut whole = BTreeSet::new();
        for entity in acting {
            let home = names::namespace_of(&entity).unwrap_or_else(|| names::bare(&entity));
            let namespace = names::entity("", "Namespace", home);
            whole.extend(Some(home.to_owned()));
            // A namespace itself is no limit of its own.
            let limit = Some(entity).filter(|entity| names::namespace_of(entity).is_some());
            self.connect(limit, relation::RESTRICTS, namespace, SourceToTarget);
        }
        for (namespace, held) in contents(&self.topology, &whole) {
            self.connect(Some(namespace), relation::CONTAINS, Some(held), SourceToTarget);
        }
    }
}

impl OperationalGraph {
    /// Lets effects travel to what has an alert of its own from what it holds or governs: many pods
    /// use a quota up, load drives an autoscaler to its limit, a workload makes the costs of its
    /// namespace.
    pub(super) fn add_effects_on_alerted(&mut self, snapshot: &Snapshot) {
        let firing = snapshot
            .alerts
            .iter()
            .filter(|alert| alert.state == "firing" && reason_to_ignore(alert).is_none());
        let alerted: BTreeSet<EntityId> =
            firing.filter_map(|alert| entity_of(alert, self)).collect();
        let mut whole = BTreeSet::new();
        for entity in alerted {
            let kind = names::kind_of(&entity);
            if kind == "Namespace" {
                whole.insert(names::bare(&entity).to_owned());
            }
            if !GOVERNORS.contains(&kind) {
                continue;
            }
            if LIMITS.contains(&kind) {
                let home = names::namespace_of(&entity).unwrap_or_default();
                if let Some(namespace) = names::entity("", "Namespace", home) {
                    self.topology.connect(&entity, relation::RESTRICTS, &namespace, SourceToTarget);
                    whole.insert(home.to_owned());
                }
            }
            let is_governed = |edge: &&Edge| {
                let acts = [relation::SCALES, relation::RESTRICTS];
                edge.source == entity && acts.contains(&edge.relation.as_str())
            };
            let edges: Vec<Edge> =
                self.topology.edges_at(&entity).filter(is_governed).cloned().collect();
            for edge in edges {
                self.topology.remove_edge(&edge);
                self.topology.add_edge(Edge { effects: Both, ..edge });
            }
        }
        for (namespace, held) in contents(&self.topology, &whole) {
            let acts = Edge {
                source: namespace,
                relation: relation::CONTAINS.to_owned(),
                target: held,
                effects: SourceToTarget,
            };
            let effects = if self.topology.remove_edge(&acts) { Both } else { TargetToSource };
            self.topology.add_edge(Edge { effects, ..acts });
        }
    }
}

/// Workloads in the given namespaces, and what runs pods there without an owner, each with its
/// namespace.
fn contents(topology: &Topology, namespaces: &BTreeSet<String>) -> Vec<(EntityId, EntityId)> {
    if namespaces.is_empty() {
        return Vec::new();
    }
    let held = topology.entities().filter(|entity| {
        let kind = names::kind_of(entity);
        let owned = |edge: &Edge| edge.relation == relation::OWNS && edge.target == **entity;
        (WORKLOAD_KINDS.contains(&kind) || RUNS_PODS.contains(&kind))
            && !topology.edges_at(entity).any(owned)
    });
    let placed = held.filter_map(|entity| {
        let home = names::namespace_of(entity).filter(|home| namespaces.contains(*home))?;
        Some((names::entity("", "Namespace", home)?, entity.clone()))
    });
    placed.collect()
}

/// Whether one of the given parts of an object differs between two of its states.
fn differs(history: &ObjectHistory, parts: &[&str]) -> bool {
    history.states.windows(2).any(|pair| match pair {
        [old, new] => parts.iter().any(|part| {
            let pointer = format!("/{part}");
            old.object.pointer(&pointer) != new.object.pointer(&pointer)
        }),
        _ => false,
    })
}

/// What an event says was refused to an object because of its namespace.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Refused<'a> {
    namespace: &'a str,
    by: By<'a>,
    of: &'a EntityId,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By<'a> {
    /// The quota of this name.
    Quota(&'a str),
    /// A limit range, which the message does not name.
    Range,
    /// The namespace itself: its labels, or that it is being deleted.
    Namespace,
}

impl<'a> Refused<'a> {
    fn of(event: &'a EventRecord) -> Option<Self> {
        let namespace = names::namespace_of(&event.entity)?;
        Some(Self { namespace, by: refused_by(&event.message)?, of: &event.entity })
    }
}

/// Who refused, by the messages of Kubernetes' admission plugins `ResourceQuota`, `LimitRanger`,
/// `PodSecurity` and `NamespaceLifecycle`.
fn refused_by(message: &str) -> Option<By<'_>> {
    for before in ["exceeded quota: ", "failed quota: "] {
        if let Some((_, rest)) = message.split_once(before) {
            let name = rest.split([',', ' ', ';', ':']).next().unwrap_or_default();
            return (!name.is_empty()).then_some(By::Quota(name));
        }
    }
    let (_, why) = message.split_once("forbidden: ")?;
    if ["Container", "Pod", "PersistentVolumeClaim"]
        .iter()
        .any(|kind| why.contains(&format!(" usage per {kind} is ")))
    {
        return Some(By::Range);
    }
    let by_namespace = why.contains("violates PodSecurity")
        || (why.contains("unable to create new content in namespace")
            && why.contains("being terminated"));
    by_namespace.then_some(By::Namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_tell_who_refused() {
        let said = |why: &str| format!("Error creating: pods \"web-1-\" is forbidden: {why}");
        let cases = [
            (
                "exceeded quota: few, requested: pods=1, used: pods=4, limited: pods=4",
                Some(By::Quota("few")),
            ),
            ("failed quota: few: must specify limits.cpu for: web", Some(By::Quota("few"))),
            ("maximum cpu usage per Container is 500m, but limit is 1", Some(By::Range)),
            ("violates PodSecurity \"restricted:latest\": privileged", Some(By::Namespace)),
            (
                "unable to create new content in namespace shop because it is being terminated",
                Some(By::Namespace),
            ),
            ("User \"x\" cannot create resource \"pods\"", None),
        ];
        for (why, expected) in cases {
            assert_eq!(refused_by(&said(why)), expected, "{why}");
        }
    }
}
