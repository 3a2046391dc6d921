//! The operational graph: which entities there are, and which way effects travel between them.

mod architecture;
mod builder;
mod events;
mod experiments;
mod hosts;
mod index;
mod labels;
mod namespaces;
mod objects;
pub mod relation;
mod selectable;
mod telemetry;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use eog_core::incident::Edge;
use eog_core::{EntityId, Topology};

use crate::names::{self, WORKLOAD_KINDS};
use crate::snapshot::Snapshot;

pub(crate) use hosts::outside_entity;
pub(crate) use index::{DEFAULT_NAMESPACE, Match, NameIndex};
pub(crate) use objects::is_experiment;
pub(crate) use telemetry::{egress_cluster, span_callee};

use builder::Builder;

/// The dependency graph of a snapshot, and which names were ambiguous.
///
/// Every edge is backed by something in the recording: an owner reference, a selector, a mount, an
/// environment value that names a host, a traced call, a declared dependency. Sharing a namespace
/// creates no edge. A namespace is joined with what it holds only where something acts on the whole of
/// it, or where an alert speaks of it.
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
    plain_names: OnceLock<BTreeMap<String, EntityId>>,
}

impl OperationalGraph {
    /// Entities and edges.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Names that could not be resolved, as readable text.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Services, workloads and machines by their names without namespace and kind, where one alone has the name. A
    /// service stands for its workload.
    pub(crate) fn plain_names(&self) -> &BTreeMap<String, EntityId> {
        self.plain_names.get_or_init(|| {
            let rank = |entity: &EntityId| match names::kind_of(entity) {
                "Service" => Some(0),
                kind if WORKLOAD_KINDS.contains(&kind) => Some(1),
                "Node" => Some(2),
                _ => None,
            };
            let mut by_name: BTreeMap<String, BTreeSet<(u8, &EntityId)>> = BTreeMap::new();
            for entity in self.topology.entities() {
                if let Some(rank) = rank(entity) {
                    let name = names::bare(entity).to_owned();
                    by_name.entry(name).or_default().insert((rank, entity));
                }
            }
            let only = |(name, found): (String, BTreeSet<(u8, &EntityId)>)| {
                let (rank, first) = *found.first()?;
                let is_only = found.iter().filter(|(other, _)| *other == rank).count() == 1;
                is_only.then(|| (name, first.clone()))
            };
            by_name.into_iter().filter_map(only).collect()
        })
    }

    /// What an entity owns, over any chain of owners.
    pub(crate) fn owned_by(&self, owner: &EntityId) -> Vec<EntityId> {
        owned_by(&self.topology, owner)
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

    /// The services whose load a workload makes: those that it stands behind and that have no callers.
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
        builder.add_namespaces(self);
        builder.add_evictions(self);
        builder.add_resolvers(self);
        builder.back_services();
        builder.add_sources_of_load(self);
        let Builder { topology, warnings, index, .. } = builder;
        let mut graph =
            OperationalGraph { topology, warnings, index, plain_names: OnceLock::new() };
        graph.add_effects_on_alerted(self);
        graph
    }
}

/// What an entity owns, over any chain of owners.
pub(crate) fn owned_by(topology: &Topology, owner: &EntityId) -> Vec<EntityId> {
    let mut owned = BTreeSet::new();
    let mut open = vec![owner.clone()];
    while let Some(owner) = open.pop() {
        for edge in topology.edges_at(&owner) {
            let goes_down = edge.relation == relation::OWNS && edge.source == owner;
            if goes_down && owned.insert(edge.target.clone()) {
                open.push(edge.target.clone());
            }
        }
    }
    owned.remove(owner);
    owned.into_iter().collect()
}
