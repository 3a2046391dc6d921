//! The operational graph: which entities there are, and which way effects travel between them.

mod architecture;
mod experiments;
mod hosts;
mod index;
mod labels;
mod objects;
mod selectable;
mod telemetry;

use std::collections::BTreeSet;

use eog_core::{Edge, EffectDirection, EntityId, Topology};

use crate::names::{self, EntityName};
use crate::snapshot::Snapshot;

pub(crate) use index::{DEFAULT_NAMESPACE, Match, NameIndex};
pub(crate) use objects::{WORKLOAD_KINDS, is_experiment, is_experiment_group};
pub(crate) use telemetry::{egress_cluster, span_callee};

/// The relations of the operational graph. All are read "source *relation* target".
pub mod relation {
    /// A service calls another: failures travel from callee to caller.
    pub const CALLS: &str = "calls";
    /// A workload names a service as host: failures travel from the service to the workload.
    pub const USES: &str = "uses";
    /// A workload or pod serves a service: effects travel from the workload to the service.
    pub const BACKS: &str = "backs";
    /// An owner made an object: configuration travels from the owner down.
    pub const OWNS: &str = "owns";
    /// A workload mounts or reads a ConfigMap, Secret or volume claim, a claim its volume: effects
    /// travel to the one that mounts.
    pub const MOUNTS: &str = "mounts";
    /// A pod runs on a node: effects travel from the node to the pod.
    pub const RUNS_ON: &str = "runs_on";
    /// An autoscaler sets the replicas of a workload: effects travel to the workload.
    pub const SCALES: &str = "scales";
    /// An ingress routes to a service: failures travel from the service to the ingress.
    pub const ROUTES: &str = "routes";
    /// A policy restricts the traffic of pods, or a quota how many there can be: effects travel
    /// to the workload.
    pub const RESTRICTS: &str = "restricts";
    /// A fault experiment aims at a workload: effects travel to the workload.
    pub const INJECTS: &str = "injects";
    /// A producer of messages feeds a consumer, or a workload makes the load of a service that
    /// serves nobody: load and effects travel to the target.
    pub const SENDS_LOAD: &str = "sends_load";

    /// All of them.
    pub const ALL: [&str; 11] =
        [CALLS, USES, BACKS, OWNS, MOUNTS, RUNS_ON, SCALES, ROUTES, RESTRICTS, INJECTS, SENDS_LOAD];
}

/// The dependency graph of a snapshot, and what could not be told apart on the way.
///
/// Every edge rests on a statement of the recording: an owner reference, a selector, a mount, an
/// environment value that names a host, a traced call, a declared dependency. Being in one
/// namespace joins nothing.
///
/// ```
/// # use eog_sre::{ReadOptions, Snapshot};
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir(directory.path().join("alerts"))?;
/// # std::fs::write(directory.path().join("alerts/alerts_at_1.json"), "[]")?;
/// let snapshot = Snapshot::open(directory.path(), &ReadOptions::default())?;
/// assert_eq!(snapshot.graph().topology().entities().len(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OperationalGraph {
    topology: Topology,
    warnings: Vec<String>,
    pub(crate) index: NameIndex,
}

impl OperationalGraph {
    /// Entities and edges.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Names that could not be brought together, for people.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What an entity owns, over any chain of owners.
    pub(crate) fn owned_by(&self, owner: &EntityId) -> Vec<EntityId> {
        let mut owned = BTreeSet::new();
        let mut open = vec![owner.clone()];
        while let Some(owner) = open.pop() {
            for edge in self.topology.edges_at(&owner) {
                let goes_down = edge.relation == relation::OWNS && edge.source == owner;
                if goes_down && owned.insert(edge.target.clone()) {
                    open.push(edge.target.clone());
                }
            }
        }
        owned.remove(owner);
        owned.into_iter().collect()
    }

    /// The workload that an entity belongs to over any chain of owners; a workload belongs to
    /// itself.
    pub(crate) fn workload_of<'a>(&'a self, entity: &'a EntityId) -> Option<&'a EntityId> {
        let mut at = entity;
        let mut found = None;
        // Owner references can form a circle; a real chain is short.
        for _ in 0..8 {
            if WORKLOAD_KINDS.contains(&names::kind_of(at)) {
                found = Some(at);
            }
            let is_owner = |edge: &&Edge| edge.relation == relation::OWNS && edge.target == *at;
            let Some(edge) = self.topology.edges_at(at).find(is_owner) else { break };
            at = &edge.source;
        }
        found
    }

    /// The services whose load a workload makes: those that it stands behind and that serve nobody.
    pub(crate) fn load_of<'a>(
        &'a self,
        workload: &'a EntityId,
    ) -> impl Iterator<Item = &'a EntityId> {
        let edges = self.topology.edges_at(workload);
        let made = edges.filter(|edge| {
            edge.relation == relation::SENDS_LOAD
                && edge.source == *workload
                && WORKLOAD_KINDS.contains(&names::kind_of(workload))
        });
        made.map(|edge| &edge.target)
    }
}

impl Snapshot {
    /// Builds the operational graph.
    pub fn graph(&self) -> OperationalGraph {
        let mut builder = Builder::default();
        builder.index_objects(&self.objects);
        builder.index_telemetry(self);
        let components = builder.place_components(self);
        builder.add_objects(&self.objects);
        builder.add_hosts(&self.objects, self.architecture.as_ref());
        builder.add_dependencies(self, &components);
        builder.add_telemetry(self);
        builder.add_alerted(self);
        builder.add_pods_by_name(self);
        builder.add_quotas(self);
        builder.back_services();
        builder.add_sources_of_load(self);
        builder.finish()
    }
}

/// A graph under construction.
#[derive(Default)]
struct Builder {
    topology: Topology,
    index: NameIndex,
    warnings: Vec<String>,
    /// Services that something speaks of: each should have a workload behind it.
    spoken_of: BTreeSet<EntityId>,
}

/// Most warnings about names.
const MAX_NAME_WARNINGS: usize = 50;

impl Builder {
    fn warn(&mut self, text: String) {
        if self.warnings.len() < MAX_NAME_WARNINGS && !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    fn connect(
        &mut self,
        source: Option<EntityId>,
        relation: &str,
        target: Option<EntityId>,
        effects: EffectDirection,
    ) {
        if let (Some(source), Some(target)) = (source, target)
            && source != target
        {
            self.topology.connect(&source, relation, &target, effects);
        }
    }

    /// The Service entity of a name that telemetry or the architecture uses.
    fn service(&mut self, namespace: &str, name: &str) -> Option<EntityId> {
        let namespace = match namespace {
            "" => self.index.namespace_of(name),
            given => given.to_owned(),
        };
        if let Match::Ambiguous(several) = self.index.find(&namespace, name) {
            let several = several.join(", ");
            self.warn(format!(
                "{name} in namespace {namespace} may be any of {several}; it is kept apart"
            ));
        }
        let service = self.index.service(&namespace, name)?;
        self.topology.add_entity(service.clone());
        self.spoken_of.insert(service.clone());
        Some(service)
    }

    /// Joins services that have no selector to the workload that carries their name.
    fn back_services(&mut self) {
        for service in std::mem::take(&mut self.spoken_of) {
            let backs = |edge: &Edge| edge.relation == relation::BACKS && edge.target == service;
            if self.topology.edges_at(&service).any(backs) {
                continue;
            }
            let Some(EntityName { namespace: Some(namespace), name, .. }) =
                EntityName::parse(service.as_str())
            else {
                continue;
            };
            let Some(workload) = self.index.workload_of(&namespace, &name) else { continue };
            for kind in objects::WORKLOAD_KINDS {
                let entity = names::entity(&namespace, kind, &workload);
                let known = entity.filter(|entity| self.topology.contains(entity));
                let effects = EffectDirection::SourceToTarget;
                self.connect(known, relation::BACKS, Some(service.clone()), effects);
            }
        }
    }

    fn finish(self) -> OperationalGraph {
        OperationalGraph { topology: self.topology, warnings: self.warnings, index: self.index }
    }
}
