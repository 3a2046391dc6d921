//! To and from [`petgraph`]: a topology made of any of its graphs, and topologies and explanations as
//! graphs that its algorithms take. Only with the feature `petgraph`.
//!
//! ```
//! use eog_core::graph::{self, Relation};
//! use eog_core::graph::petgraph::graph::DiGraph;
//! use eog_core::incident::EffectDirection;
//! use eog_core::{EntityId, Topology};
//!
//! let mut services = DiGraph::new();
//! let (web, db) = (services.add_node("web"), services.add_node("db"));
//! services.add_edge(web, db, "calls");
//!
//! let topology = Topology::from_petgraph(
//!     &services,
//!     |name| EntityId::new(*name),
//!     |relation| Relation::new(*relation, EffectDirection::TargetToSource),
//! )?;
//! assert_eq!(topology.neighbours(&"web".parse()?)[0].entity.as_str(), "db");
//!
//! // What depends on what, for any algorithm of petgraph.
//! let again = topology.to_petgraph();
//! assert!(!graph::petgraph::algo::is_cyclic_directed(&again));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};

/// The version of petgraph that these graphs are of.
pub use petgraph;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{
    Data, EdgeRef, IntoEdgeReferences, IntoNodeReferences, NodeIndexable, NodeRef,
};

use crate::belief::{Claim, Label};
use crate::diagnosis::Diagnosis;
use crate::ids::{EntityId, InvalidId};
use crate::incident::topology::{Edge, EffectDirection, Topology};

/// What an edge of a topology says beside its ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Relation {
    /// The relation, such as `calls`, `mounts`, `runs_on`.
    pub relation: String,
    /// Which way effects travel.
    pub effects: EffectDirection,
}

impl Relation {
    /// A relation along which effects travel this way.
    pub fn new(relation: impl Into<String>, effects: EffectDirection) -> Self {
        Self { relation: relation.into(), effects }
    }
}

/// An entity of an explanatory graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Judged {
    /// The entity.
    pub entity: EntityId,
    /// Its label; nothing if it was never judged.
    pub label: Option<Label>,
}

/// As Graphviz shows it: `db (Origin)`.
impl std::fmt::Display for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.label {
            Some(label) => write!(f, "{} ({label})", self.entity),
            None => write!(f, "{} (not judged)", self.entity),
        }
    }
}

/// Why a graph is no topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A node has a name that no entity may have.
    #[error("node {node}: {error}")]
    Name {
        /// The index of the node.
        node: usize,
        /// What is wrong with the name.
        error: InvalidId,
    },
    /// Two nodes have one name. As one entity they would have the edges of both.
    #[error("nodes {first} and {second} are both named {entity}; give each entity one node")]
    Twice {
        /// The name.
        entity: EntityId,
        /// The index of the first node.
        first: usize,
        /// The index of the second.
        second: usize,
    },
}

impl Topology {
    /// The topology of a graph of petgraph: [`DiGraph`], `StableGraph`, `GraphMap`,
    /// `MatrixGraph` or `Csr`, given by reference, or a view such as `EdgeFiltered`. Nodes without edges are declared,
    /// and parallel edges that say the same are one.
    ///
    /// `entity` names a node, and `relation` says what an edge means. The edge of an undirected graph
    /// has a source and a target in the order of the graph, so effects that travel
    /// [`Both`](EffectDirection::Both) ways fit it best.
    ///
    /// # Errors
    /// [`GraphError`] names the index of the node whose name cannot be used, or of the two that share one.
    pub fn from_petgraph<G>(
        graph: G,
        mut entity: impl FnMut(&<G as Data>::NodeWeight) -> Result<EntityId, InvalidId>,
        mut relation: impl FnMut(&<G as Data>::EdgeWeight) -> Relation,
    ) -> Result<Self, GraphError>
    where
        G: IntoNodeReferences + IntoEdgeReferences + NodeIndexable,
    {
        let mut topology = Self::default();
        let mut names: BTreeMap<usize, EntityId> = BTreeMap::new();
        let mut nodes: BTreeMap<EntityId, usize> = BTreeMap::new();
        for reference in graph.node_references() {
            let node = graph.to_index(reference.id());
            let name =
                entity(reference.weight()).map_err(|error| GraphError::Name { node, error })?;
            if let Some(first) = nodes.insert(name.clone(), node) {
                return Err(GraphError::Twice { entity: name, first, second: node });
            }
            topology.add_entity(name.clone());
            names.insert(node, name);
        }
        for edge in graph.edge_references() {
            let end = |id| names.get(&graph.to_index(id));
            // A view may leave out a node and still return its edges.
            let (Some(source), Some(target)) = (end(edge.source()), end(edge.target())) else {
                continue;
            };
            let Relation { relation, effects } = relation(edge.weight());
            let (source, target) = (source.clone(), target.clone());
            topology.add_edge(Edge { source, target, relation, effects });
        }
        Ok(topology)
    }

    /// The topology as a graph: a node for each entity, by name, and an edge for each declared edge, in
    /// order. [`Topology::from_petgraph`] gives an equal topology again.
    pub fn to_petgraph(&self) -> DiGraph<EntityId, Relation> {
        let mut graph = DiGraph::with_capacity(self.entities().len(), self.edges().len());
        let nodes: BTreeMap<&EntityId, NodeIndex> =
            self.entities().map(|entity| (entity, graph.add_node(entity.clone()))).collect();
        for edge in self.edges() {
            if let (Some(source), Some(target)) = (nodes.get(&edge.source), nodes.get(&edge.target))
            {
                let relation = Relation::new(edge.relation.clone(), edge.effects);
                graph.add_edge(*source, *target, relation);
            }
        }
        graph
    }
}

impl Diagnosis {
    /// The explanatory graph: a node for each entity that was judged, that alerts or that a live claim
    /// names, by name, and an edge from cause to effect for each pair that a live claim joins, with that
    /// claim.
    ///
    /// ```
    /// use eog_core::graph::petgraph::dot::Dot;
    /// use eog_core::{
    ///     Anomaly, Case, Claim, Config, ContextAndPolicy, Controller, Decision, Finding,
    ///     InMemoryContext, Label, Machine, Topology, Window, machine, policy_fn,
    /// };
    /// use eog_core::evidence::{EvidenceKind, EvidenceTime, FindingContent, Signal};
    /// use eog_core::incident::EffectDirection;
    ///
    /// let at = "2026-01-01T10:05:00Z".parse()?;
    /// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
    /// let alert = Anomaly::new("HttpErrors", "web".parse()?, Signal::Errors, at);
    /// let found = |entity: &str| -> Result<Finding, eog_core::InvalidId> {
    ///     let time = EvidenceTime::At(at);
    ///     Ok(FindingContent::new(entity.parse()?, EvidenceKind::Event, Signal::Errors, time).into())
    /// };
    /// let mut contract = InMemoryContext::default();
    /// contract.add(found("web")?);
    /// contract.add(found("db")?);
    /// let policy = policy_fn(|packet| {
    ///     let ids = packet.context.findings.iter().map(Finding::id);
    ///     match packet.entity.as_str() {
    ///         "db" => Decision::new(Label::Origin, "out of disk").citing(&packet.context.findings),
    ///         _ => Decision::new(Label::Symptom, "db fails").citing(&packet.context.findings).claiming(
    ///             Claim::new(&"db".parse().unwrap(), &packet.entity, "no disk", "errors").citing_ids(ids),
    ///         ),
    ///     }
    /// });
    /// let mut topology = Topology::default();
    /// topology.connect(&"web".parse()?, "calls", &"db".parse()?, EffectDirection::TargetToSource);
    /// let case = Case::from_anomalies(topology, window, vec![alert]);
    /// let mut controller = Controller::open(Config::default(), case);
    /// machine::drive(&mut controller, &ContextAndPolicy { contract, policy })?;
    ///
    /// let graph = controller.diagnosis().explanatory_graph();
    /// let edge = graph.edge_indices().next().unwrap();
    /// let (cause, effect) = graph.edge_endpoints(edge).unwrap();
    /// assert_eq!(graph[cause].to_string(), "db (Origin)");
    /// assert_eq!(graph[effect].to_string(), "web (Symptom)");
    /// assert_eq!(graph[edge].condition, "no disk");
    /// let words = graph.map(|_, node| node.to_string(), |_, claim| claim.condition.clone());
    /// assert!(format!("{}", Dot::new(&words)).contains("db (Origin)"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explanatory_graph(&self) -> DiGraph<Judged, Claim> {
        let claimed = self.claims.iter().flat_map(|claim| [&claim.cause, &claim.effect]);
        let alerting = self.anomalies.iter().map(|anomaly| &anomaly.entity);
        let all: BTreeSet<&EntityId> = claimed.chain(alerting).chain(self.beliefs.keys()).collect();
        let mut graph = DiGraph::with_capacity(all.len(), self.claims.len());
        let node = |entity: &EntityId| {
            let label = self.belief(entity).map(|belief| belief.label);
            Judged { entity: entity.clone(), label }
        };
        let nodes: BTreeMap<&EntityId, NodeIndex> =
            all.into_iter().map(|entity| (entity, graph.add_node(node(entity)))).collect();
        // Both ends may make one claim; they are listed together, the effect's own words first.
        let mut before = None;
        for claim in &self.claims {
            let ends = (&claim.cause, &claim.effect);
            if before.replace(ends) == Some(ends) {
                continue;
            }
            if let (Some(cause), Some(effect)) = (nodes.get(ends.0), nodes.get(ends.1)) {
                graph.add_edge(*cause, *effect, claim.clone());
            }
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use petgraph::csr::Csr;
    use petgraph::graph::UnGraph;
    use petgraph::graphmap::DiGraphMap;
    use petgraph::matrix_graph::DiMatrix;
    use petgraph::stable_graph::StableDiGraph;
    use petgraph::visit::EdgeFiltered;

    use super::*;

    fn calls(_: &()) -> Relation {
        Relation::new("calls", EffectDirection::TargetToSource)
    }

    fn named(name: &&str) -> Result<EntityId, InvalidId> {
        EntityId::new(*name)
    }

    /// web → api → db, and one isolated entity.
    fn expected() -> Topology {
        let id = |name: &str| EntityId::new(name).unwrap();
        let mut topology = Topology::default();
        topology.add_entity(id("alone"));
        for (source, target) in [("web", "api"), ("api", "db")] {
            topology.connect(&id(source), "calls", &id(target), EffectDirection::TargetToSource);
        }
        topology
    }

    #[test]
    fn every_kind_of_graph_gives_the_same_topology() {
        let mut digraph = DiGraph::<&str, ()>::new();
        let [web, api, db, _] = ["web", "api", "db", "alone"].map(|name| digraph.add_node(name));
        digraph.extend_with_edges([(web, api), (api, db), (api, db)]);
        assert_eq!(Topology::from_petgraph(&digraph, named, calls), Ok(expected()));

        // Indexes with a gap.
        let mut stable = StableDiGraph::<&str, ()>::from(digraph.clone());
        let gone = stable.add_node("gone");
        let late = stable.add_node("late");
        stable.remove_node(gone);
        stable.add_edge(late, web, ());
        let topology = Topology::from_petgraph(&stable, named, calls).unwrap();
        let late = topology.neighbours(&EntityId::new("late").unwrap());
        assert_eq!(late[0].entity.as_str(), "web");

        let mut map = DiGraphMap::<&str, ()>::from_edges([("web", "api"), ("api", "db")]);
        map.add_node("alone");
        assert_eq!(Topology::from_petgraph(&map, named, calls), Ok(expected()));

        let mut matrix = DiMatrix::<&str, ()>::new();
        let [web, api, db, _] = ["web", "api", "db", "alone"].map(|name| matrix.add_node(name));
        matrix.add_edge(web, api, ());
        matrix.add_edge(api, db, ());
        assert_eq!(Topology::from_petgraph(&matrix, named, calls), Ok(expected()));

        let mut csr = Csr::<&str, ()>::new();
        let [web, api, db, _] = ["web", "api", "db", "alone"].map(|name| csr.add_node(name));
        csr.add_edge(web, api, ());
        csr.add_edge(api, db, ());
        assert_eq!(Topology::from_petgraph(&csr, named, calls), Ok(expected()));

        let filtered = EdgeFiltered::from_fn(&digraph, |_| true);
        assert_eq!(Topology::from_petgraph(&filtered, named, calls), Ok(expected()));
    }

    #[test]
    fn an_undirected_graph_carries_both_ways() {
        let mut graph = UnGraph::<&str, ()>::new_undirected();
        let (a, b) = (graph.add_node("a"), graph.add_node("b"));
        graph.add_edge(a, b, ());
        let both = |_: &()| Relation::new("shares", EffectDirection::Both);
        let topology = Topology::from_petgraph(&graph, named, both).unwrap();
        assert_eq!(topology.edges().len(), 1);
        let edge = topology.edges().next().unwrap();
        assert!(
            edge.carries(&edge.source, &edge.target) && edge.carries(&edge.target, &edge.source)
        );
    }

    #[test]
    fn a_topology_comes_back_as_it_was() {
        let mut topology = expected();
        let id = |name: &str| EntityId::new(name).unwrap();
        topology.connect(&id("db"), "feeds", &id("web"), EffectDirection::SourceToTarget);
        topology.connect(&id("web"), "calls", &id("web"), EffectDirection::Both);
        let graph = topology.to_petgraph();
        assert_eq!((graph.node_count(), graph.edge_count()), (4, 4));
        let again = Topology::from_petgraph(&graph, |id| Ok(id.clone()), Relation::clone);
        assert_eq!(again, Ok(topology));
    }

    #[test]
    fn names_that_do_not_do_are_reported_with_their_node() {
        let mut graph = DiGraph::<&str, ()>::new();
        graph.add_node("web");
        graph.add_node(" web");
        let error = Topology::from_petgraph(&graph, named, calls).unwrap_err().to_string();
        let expected =
            "node 1: entity name \" web\" is not usable: it begins or ends with white space";
        assert_eq!(error, expected);

        let mut graph = DiGraph::<&str, ()>::new();
        graph.add_node("web");
        graph.add_node("web");
        let error = Topology::from_petgraph(&graph, named, calls).unwrap_err().to_string();
        assert_eq!(error, "nodes 0 and 1 are both named web; give each entity one node");
    }
}
