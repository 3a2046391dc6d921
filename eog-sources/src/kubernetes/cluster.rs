//! What the objects of a cluster say together: who they are as entities, and what depends on what.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::incident::EffectDirection::{self, SourceToTarget, TargetToSource};
use eog_sre::relation;

use super::kinds::Kind;
use super::object::{Fact, Object};
use crate::period::Period;
use crate::piece::{Happened, Link, Millis, Piece, Seen, Who};

/// Owners of owners are followed so far: what refers to itself in a circle must end.
const MAX_OWNERS: usize = 8;

/// Most edges from one object to those that it selects.
const MAX_SELECTED: usize = 500;

/// The objects of a cluster by kind.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub(super) objects: BTreeMap<Kind, Vec<Object>>,
}

impl Cluster {
    pub(super) fn of(&self, kind: Kind) -> &[Object] {
        self.objects.get(&kind).map(Vec::as_slice).unwrap_or_default()
    }

    /// What is made of all of them.
    pub(super) fn piece(&self, period: Period) -> Piece {
        let owners = Owners::of(self);
        let mut piece = Piece::default();
        self.of_pods(&owners, &mut piece);
        self.of_selectors(&owners, &mut piece);
        self.of_names(&mut piece);
        self.events(&owners, period, &mut piece);
        self.states(period.until, &mut piece);
        super::changes::add(self, period, &mut piece);
        piece
    }

    /// Pods serve their workloads and run on machines.
    fn of_pods(&self, owners: &Owners<'_>, piece: &mut Piece) {
        for pod in self.of(Kind::Pod) {
            let from = whose(Kind::Pod.name(), &pod.namespace, &pod.name);
            if let Some(workload) = owners.top(pod) {
                link(piece, &from, relation::BACKS, workload, SourceToTarget);
            }
            if !pod.node.is_empty() {
                let node = Who::Host(pod.node.clone());
                link(piece, &from, relation::RUNS_ON, node, TargetToSource);
            }
        }
    }

    /// Services lead to the workloads whose pods they select; policies restrict those that they select.
    fn of_selectors(&self, owners: &Owners<'_>, piece: &mut Piece) {
        for kind in [Kind::Service, Kind::NetworkPolicy] {
            for object in self.of(kind) {
                let Some(labels) = &object.selects else { continue };
                let me = whose(kind.name(), &object.namespace, &object.name);
                let chosen = self.of(Kind::Pod).iter().filter(|pod| {
                    pod.namespace == object.namespace
                        && labels.iter().all(|(name, value)| pod.labels.get(name) == Some(value))
                });
                let workloads: BTreeSet<Who> = chosen.filter_map(|pod| owners.top(pod)).collect();
                for workload in workloads.into_iter().take(MAX_SELECTED) {
                    match kind {
                        Kind::Service => {
                            link(piece, &workload, relation::BACKS, me.clone(), SourceToTarget);
                        }
                        _ => link(piece, &me, relation::RESTRICTS, workload, SourceToTarget),
                    }
                }
            }
        }
        // A quota is for all of its namespace.
        for quota in self.of(Kind::Quota) {
            let me = whose(Kind::Quota.name(), &quota.namespace, &quota.name);
            let of_space = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet]
                .into_iter()
                .flat_map(|kind| self.of(kind).iter().map(move |it| (kind, it)))
                .filter(|(_, it)| it.namespace == quota.namespace);
            for (kind, workload) in of_space.take(MAX_SELECTED) {
                let to = whose(kind.name(), &workload.namespace, &workload.name);
                link(piece, &me, relation::RESTRICTS, to, SourceToTarget);
            }
        }
    }

    /// Workloads mount, autoscalers scale, ingresses route.
    fn of_names(&self, piece: &mut Piece) {
        let holders = [
            (Kind::Deployment, relation::MOUNTS, TargetToSource),
            (Kind::StatefulSet, relation::MOUNTS, TargetToSource),
            (Kind::DaemonSet, relation::MOUNTS, TargetToSource),
            (Kind::CronJob, relation::MOUNTS, TargetToSource),
            (Kind::Autoscaler, relation::SCALES, SourceToTarget),
            (Kind::Ingress, relation::ROUTES, TargetToSource),
        ];
        for (kind, relation, effects) in holders {
            for object in self.of(kind) {
                let me = whose(kind.name(), &object.namespace, &object.name);
                for (of, name) in &object.names {
                    let other = whose(of, &object.namespace, name);
                    link(piece, &me, relation, other, effects);
                }
            }
        }
        // Pods that nothing owns mount by themselves.
        for pod in self.of(Kind::Pod).iter().filter(|pod| pod.owner.is_none()) {
            let me = whose(Kind::Pod.name(), &pod.namespace, &pod.name);
            for (of, name) in &pod.names {
                let other = whose(of, &pod.namespace, name);
                link(piece, &me, relation::MOUNTS, other, TargetToSource);
            }
        }
    }

    /// The state of each object when it was listed, and since when it is so.
    fn states(&self, listed: Millis, piece: &mut Piece) {
        for (kind, objects) in &self.objects {
            for object in objects {
                let Some((state, reason, since)) = &object.state else { continue };
                let who = whose(kind.name(), &object.namespace, &object.name);
                for at in since.filter(|since| *since < listed).into_iter().chain([listed]) {
                    let (who, reason) = (who.clone(), reason.clone());
                    piece.states.push(Seen { at, who, state: *state, reason });
                }
            }
        }
    }

    fn events(&self, owners: &Owners<'_>, period: Period, piece: &mut Piece) {
        for kind in [Kind::Event, Kind::Pod, Kind::Node] {
            for object in self.of(kind) {
                for fact in &object.facts {
                    let who = match &fact.about {
                        None => whose(kind.name(), &object.namespace, &object.name),
                        Some((kind, namespace, name)) => owners.who(kind, namespace, name),
                    };
                    happened(fact, &who, period, &mut piece.events);
                }
            }
        }
        // The state of a container may be reported by an event as well.
        piece.events.sort_by(|a, b| {
            (a.at, &a.who, &a.reason, &a.message).cmp(&(b.at, &b.who, &b.reason, &b.message))
        });
        piece.events.dedup();
    }
}

/// Adds what a fact says of a period, if it is not a part of normal operation.
fn happened(fact: &Fact, who: &Who, period: Period, all: &mut Vec<Happened>) {
    let signal = eog_sre::event_signal(&fact.reason, fact.is_warning, &fact.message);
    let Some(signal) = signal else { return };
    let mut times = vec![(fact.at, fact.count)];
    if fact.first < fact.at {
        times.push((fact.first, 1));
    }
    for (at, count) in times.into_iter().filter(|(at, _)| period.contains(*at)) {
        let times = if count > 1 { format!(" ({count} times so far)") } else { String::new() };
        all.push(Happened {
            at,
            who: who.clone(),
            reason: fact.reason.clone(),
            signal,
            message: format!("{}{times}", fact.message),
        });
    }
}

fn link(piece: &mut Piece, source: &Who, relation: &str, target: Who, effects: EffectDirection) {
    if *source != target {
        let (source, relation) = (source.clone(), relation.to_owned());
        piece.links.push(Link { source, target, relation, effects });
    }
}

/// The entity of an object. Workloads and services are named as metrics name them, by namespace and name.
pub(super) fn whose(kind: &str, namespace: &str, name: &str) -> Who {
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    match kind {
        "Node" => Who::Host(name),
        "Pod" => Who::Pod { namespace, name },
        "Service"
        | "Deployment"
        | "StatefulSet"
        | "DaemonSet"
        | "ReplicaSet"
        | "ReplicationController"
        | "Rollout" => Who::Service { namespace, name },
        kind => Who::Object { kind: kind.to_owned(), namespace, name },
    }
}

/// The owners of objects.
struct Owners<'a> {
    /// By kind, namespace and name.
    known: BTreeMap<(&'a str, &'a str, &'a str), &'a (String, String)>,
}

impl<'a> Owners<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        let objects =
            cluster.objects.iter().flat_map(|(kind, all)| all.iter().map(|it| (*kind, it)));
        let known = objects.filter_map(|(kind, it)| {
            Some(((kind.name(), it.namespace.as_str(), it.name.as_str()), it.owner.as_ref()?))
        });
        Self { known: known.collect() }
    }

    /// The workload that a pod is of, if it is of one.
    fn top(&self, pod: &Object) -> Option<Who> {
        let (kind, name) = pod.owner.as_ref()?;
        // What the kubelet runs by itself is "owned" by the machine.
        (kind != "Node").then(|| self.who(kind, &pod.namespace, name))
    }

    /// The entity of an object, which is that of its last owner for those that controllers make of a workload.
    fn who(&self, kind: &str, namespace: &str, name: &str) -> Who {
        let (mut kind, mut name) = (kind, name);
        for _ in 0..MAX_OWNERS {
            if !matches!(kind, "ReplicaSet" | "ReplicationController" | "Job" | "Deployment") {
                break;
            }
            let Some((of, owner)) = self.known.get(&(kind, namespace, name)) else { break };
            (kind, name) = (of, owner);
        }
        whose(kind, namespace, name)
    }
}
