//! Namespaces as a whole: what limits one acts on everything in it, and an alert about one is about
//! what it holds.
//!
//! A namespace is joined with its contents only where there is a reason. A hub that always connects
//! everything would make everything a suspect.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::incident::Edge;
use eog_core::incident::EffectDirection::{Both, SourceToTarget, TargetToSource};
use eog_core::{EntityId, Timestamp, Topology};
use serde_json::Value;

use super::OperationalGraph;
use super::builder::Builder;
use super::relation;
use crate::evidence::{entity_of, reason_to_ignore, used_up};
use crate::json::moment;
use crate::names::{self, WORKLOAD_KINDS};
use crate::read::ObjectHistory;
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

/// What a namespace holds besides workloads that makes pods, or is one, where it has no owner.
const RUNS_PODS: [&str; 4] = ["ReplicaSet", "Job", "CronJob", "Pod"];

impl Builder {
    /// Joins each namespace on which something acts with what limits it, and with what in it this can
    /// have reached. Kubernetes applies quotas, limit ranges and labels of a namespace when a pod is
    /// made, and never to pods that run: so those workloads that were refused a pod, lack one, or have
    /// made one since that a limit range or a label can have shaped.
    pub(super) fn add_namespaces(&mut self, snapshot: &Snapshot) {
        let (mut acting, refused) = self.refusals(snapshot);
        let began = snapshot.objects.recorded().map(|recorded| recorded.start());
        for (entity, history) in &snapshot.objects.histories {
            if let Some(at) = acts_since(entity, history, began) {
                let since = acting.entry(entity.clone()).or_insert(at);
                *since = at.min(*since);
            }
        }
        // The namespaces on which something acts, and since when it shapes the pods that are made: a
        // quota does not, it refuses them.
        let mut since: BTreeMap<String, Option<Timestamp>> = BTreeMap::new();
        for (entity, at) in acting {
            let home = names::namespace_of(&entity).unwrap_or_else(|| names::bare(&entity));
            let shapes = Some(at).filter(|_| names::kind_of(&entity) != LIMITS[0]);
            let known = since.entry(home.to_owned()).or_default();
            *known = known.take().into_iter().chain(shapes).min();
            let namespace = names::entity("", "Namespace", home);
            // A namespace is no limit of its own.
            let limit = Some(entity).filter(|entity| names::namespace_of(entity).is_some());
            self.connect(limit, relation::RESTRICTS, namespace, SourceToTarget);
        }
        let mut reached = refused;
        for (entity, history) in &snapshot.objects.histories {
            let home = names::namespace_of(entity).and_then(|home| since.get(home));
            let Some((since, object)) = home.zip(history.latest()) else { continue };
            let count = |pointer: &str| object.pointer(pointer).and_then(Value::as_f64);
            let is_reached = match names::kind_of(entity) {
                "Pod" => since.is_some_and(|since| created(object).is_some_and(|at| at > since)),
                kind if WORKLOAD_KINDS.contains(&kind) || kind == "ReplicaSet" => {
                    let has = count("/status/replicas").unwrap_or(0.0);
                    object.get("status").is_some() && count("/spec/replicas") > Some(has)
                }
                _ => false,
            };
            if is_reached {
                reached.insert(self.top_owner(entity));
            }
        }
        for entity in reached {
            let home = names::namespace_of(&entity).unwrap_or_default();
            let namespace = names::entity("", "Namespace", home);
            self.connect(namespace, relation::CONTAINS, Some(entity), SourceToTarget);
        }
    }

    /// What refused pods, since when, and for which workloads.
    fn refusals(&self, snapshot: &Snapshot) -> (BTreeMap<EntityId, Timestamp>, BTreeSet<EntityId>) {
        let mut ranges: BTreeMap<&str, Vec<EntityId>> = BTreeMap::new();
        for entity in snapshot.objects.histories.keys() {
            let home = names::namespace_of(entity).filter(|_| names::kind_of(entity) == LIMITS[1]);
            if let Some(home) = home {
                ranges.entry(home).or_default().push(entity.clone());
            }
        }
        let mut acting: BTreeMap<EntityId, Timestamp> = BTreeMap::new();
        let mut refused = BTreeSet::new();
        for event in &snapshot.events {
            let Some(namespace) = names::namespace_of(&event.entity) else { continue };
            let limits: Vec<EntityId> = match refused_by(&event.message) {
                None => continue,
                Some(By::Quota(name)) => {
                    names::entity(namespace, LIMITS[0], name).into_iter().collect()
                }
                Some(By::Range) => ranges.get(namespace).cloned().unwrap_or_default(),
                Some(By::Namespace) => {
                    names::entity("", "Namespace", namespace).into_iter().collect()
                }
            };
            for limit in limits {
                let since = acting.entry(limit).or_insert(event.first_at);
                *since = event.first_at.min(*since);
            }
            refused.insert(self.top_owner(&event.entity));
        }
        (acting, refused)
    }
}

/// Since when a limit or a namespace acts otherwise than before the recording, if it does: it was
/// made or changed, or all of a resource is used.
fn acts_since(
    entity: &EntityId,
    history: &ObjectHistory,
    began: Option<Timestamp>,
) -> Option<Timestamp> {
    let parts: &[&str] = match names::kind_of(entity) {
        "Namespace" => &["/metadata/labels", "/metadata/annotations"],
        kind if LIMITS.contains(&kind) => &["/spec"],
        _ => return None,
    };
    let made = history.latest().and_then(created).filter(|at| Some(*at) > began);
    let made = made.filter(|_| names::kind_of(entity) != "Namespace");
    let changed = history.states.windows(2).find_map(|pair| match pair {
        [old, new] => {
            let differs = |part: &&str| old.object.pointer(part) != new.object.pointer(part);
            // It was changed at some time after the dump before.
            parts.iter().any(differs).then_some(old.last_seen)
        }
        _ => None,
    });
    let full = history.states.iter().find(|state| used_up(&state.object).is_some());
    [made, changed, full.map(|state| state.first_seen)].into_iter().flatten().min()
}

fn created(object: &Value) -> Option<Timestamp> {
    moment(object, "/metadata/creationTimestamp")
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

/// What refused a pod.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By<'a> {
    /// The quota of this name.
    Quota(&'a str),
    /// A limit range, which the message does not name.
    Range,
    /// The namespace itself: its labels, or that it is being deleted.
    Namespace,
}

/// What refused, by the messages of Kubernetes' admission plugins `ResourceQuota`, `LimitRanger`,
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
    fn messages_say_who_refused() {
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
