//! The dependency graph: declared entities and edges, each with the way effects travel on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::ids::EntityId;

/// Which way *effects* (failures, slowness) travel along an edge.
///
/// A service that calls another suffers when the callee fails, so a `calls` edge from caller to
/// callee carries effects from target to source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EffectDirection {
    /// From the edge's source to its target.
    SourceToTarget,
    /// From the edge's target to its source.
    TargetToSource,
    /// Both ways.
    Both,
}

/// A declared edge: `source` *relation* `target`, such as "cart calls database".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Edge {
    /// Where the relation starts.
    pub source: EntityId,
    /// Where it ends.
    pub target: EntityId,
    /// The relation, such as `calls`, `mounts`, `runs_on`.
    pub relation: String,
    /// Which way effects travel.
    pub effects: EffectDirection,
}

impl Edge {
    /// Whether effects can travel from `from` to `to` on this edge.
    pub fn carries(&self, from: &EntityId, to: &EntityId) -> bool {
        let forward = self.source == *from && self.target == *to;
        let backward = self.target == *from && self.source == *to;
        match self.effects {
            EffectDirection::SourceToTarget => forward,
            EffectDirection::TargetToSource => backward,
            EffectDirection::Both => forward || backward,
        }
    }
}

/// Where a neighbour stands, seen from an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Direction {
    /// Effects come from it.
    Upstream,
    /// Effects go to it.
    Downstream,
    /// Effects travel both ways.
    Both,
}

/// The relation of a neighbour that only a claim joins with the entity.
pub const CLAIM_RELATION: &str = "claim";

/// The relations by which requests travel, from the sender to the entity that answers. What crosses
/// one of them shows on the side that answers; all other relations carry without a trace.
pub const REQUEST_RELATIONS: [&str; 2] = ["calls", "sends_load"];

/// The relation of an owner to what it makes: a change of the owner changes what it owns.
pub const OWNERSHIP_RELATION: &str = "owns";

/// The relation of a workload to the service that it serves: the service consists of it.
pub const BACKING_RELATION: &str = "backs";

/// A neighbour of an entity, as a packet shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Neighbour {
    /// The neighbour.
    pub entity: EntityId,
    /// The relation of the edge, or [`CLAIM_RELATION`] when only a claim joins the two.
    pub relation: String,
    /// Whether the entity is the edge's source (`cart calls db`: true for `cart`).
    pub outgoing: bool,
    /// Where the neighbour stands.
    pub direction: Direction,
}

/// The declared dependency graph: sorted, so that iteration order is always defined.
///
/// May be incomplete, cyclic, and hold self-loops. A self-loop never makes an entity its own
/// neighbour.
///
/// ```
/// use eog_core::{EntityId, Topology};
/// use eog_core::incident::EffectDirection;
/// let (cart, db) = (EntityId::new("cart")?, EntityId::new("db")?);
/// let mut topology = Topology::default();
/// topology.connect(&cart, "calls", &db, EffectDirection::TargetToSource);
/// assert_eq!(topology.neighbours(&cart)[0].entity, db);
/// # Ok::<(), eog_core::InvalidId>(())
/// ```
/// Cloning is cheap: clones share one graph until one of them is changed, which copies it then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "StoredTopology")]
pub struct Topology(Arc<Graph>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Graph {
    edges: BTreeSet<Arc<Edge>>,
    /// Every declared entity with the edges at it.
    incident: BTreeMap<EntityId, BTreeSet<Arc<Edge>>>,
}

impl Topology {
    /// Declares an entity. Declaring it twice changes nothing.
    pub fn add_entity(&mut self, entity: EntityId) {
        Arc::make_mut(&mut self.0).incident.entry(entity).or_default();
    }

    /// Declares an edge and both its ends. Returns whether it is new.
    pub fn add_edge(&mut self, edge: Edge) -> bool {
        if self.0.edges.contains(&edge) {
            return false;
        }
        let graph = Arc::make_mut(&mut self.0);
        let edge = Arc::new(edge);
        for end in [&edge.source, &edge.target] {
            graph.incident.entry(end.clone()).or_default().insert(Arc::clone(&edge));
        }
        graph.edges.insert(edge)
    }

    /// Declares the edge "`source` `relation` `target`".
    pub fn connect(
        &mut self,
        source: &EntityId,
        relation: &str,
        target: &EntityId,
        effects: EffectDirection,
    ) -> bool {
        self.add_edge(Edge {
            source: source.clone(),
            target: target.clone(),
            relation: relation.to_owned(),
            effects,
        })
    }

    /// Takes an edge away; its ends stay declared. Returns whether it was there.
    pub fn remove_edge(&mut self, edge: &Edge) -> bool {
        if !self.0.edges.contains(edge) {
            return false;
        }
        let graph = Arc::make_mut(&mut self.0);
        for end in [&edge.source, &edge.target] {
            if let Some(edges) = graph.incident.get_mut(end) {
                edges.remove(edge);
            }
        }
        graph.edges.remove(edge)
    }

    /// Whether an entity is declared.
    pub fn contains(&self, entity: &EntityId) -> bool {
        self.0.incident.contains_key(entity)
    }

    /// All declared entities, sorted by name.
    pub fn entities(&self) -> impl ExactSizeIterator<Item = &EntityId> {
        self.0.incident.keys()
    }

    /// All declared edges, sorted.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = &Edge> {
        self.0.edges.iter().map(|edge| &**edge)
    }

    /// The edges at one entity, sorted.
    pub fn edges_at(&self, entity: &EntityId) -> impl Iterator<Item = &Edge> {
        self.0.incident.get(entity).into_iter().flatten().map(|edge| &**edge)
    }

    /// What an entity is made of or by: what it owns and what serves it, over any number of steps, and its owners. Without
    /// itself, and without what else its owners own.
    pub fn makings(&self, of: &EntityId) -> BTreeSet<EntityId> {
        let owners = self.closure(of, |edge, at| {
            (edge.relation == OWNERSHIP_RELATION && edge.target == *at).then_some(&edge.source)
        });
        let parts = self.closure(of, |edge, at| match edge.relation.as_str() {
            OWNERSHIP_RELATION if edge.source == *at => Some(&edge.target),
            BACKING_RELATION if edge.target == *at => Some(&edge.source),
            _ => None,
        });
        &owners | &parts
    }

    /// All that steps along edges lead to.
    fn closure<'t>(
        &'t self,
        from: &EntityId,
        step: impl Fn(&'t Edge, &EntityId) -> Option<&'t EntityId>,
    ) -> BTreeSet<EntityId> {
        let (mut found, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(at) = open.pop() {
            for next in self.edges_at(&at).filter_map(|edge| step(edge, &at)) {
                if next != from && found.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        found
    }

    /// The declared neighbours of an entity: one row per edge, sorted by name and relation.
    pub fn neighbours(&self, entity: &EntityId) -> Vec<Neighbour> {
        let mut rows = BTreeSet::new();
        for edge in self.edges_at(entity).filter(|edge| edge.source != edge.target) {
            let outgoing = edge.source == *entity;
            let direction = match edge.effects {
                EffectDirection::Both => Direction::Both,
                EffectDirection::SourceToTarget if outgoing => Direction::Downstream,
                EffectDirection::TargetToSource if !outgoing => Direction::Downstream,
                EffectDirection::SourceToTarget | EffectDirection::TargetToSource => {
                    Direction::Upstream
                }
            };
            let other = if outgoing { &edge.target } else { &edge.source };
            rows.insert(Neighbour {
                entity: other.clone(),
                relation: edge.relation.clone(),
                outgoing,
                direction,
            });
        }
        rows.into_iter().collect()
    }
}

/// A topology of these edges and their ends.
///
/// ```
/// use eog_core::Topology;
/// use eog_core::incident::{Edge, EffectDirection};
/// let calls = Edge {
///     source: "cart".parse()?,
///     target: "db".parse()?,
///     relation: "calls".to_owned(),
///     effects: EffectDirection::TargetToSource,
/// };
/// let topology: Topology = [calls].into_iter().collect();
/// assert_eq!(topology.entities().len(), 2);
/// # Ok::<(), eog_core::InvalidId>(())
/// ```
impl FromIterator<Edge> for Topology {
    fn from_iter<I: IntoIterator<Item = Edge>>(edges: I) -> Self {
        let mut topology = Self::default();
        topology.extend(edges);
        topology
    }
}

impl Extend<Edge> for Topology {
    fn extend<I: IntoIterator<Item = Edge>>(&mut self, edges: I) {
        for edge in edges {
            self.add_edge(edge);
        }
    }
}

/// The persisted form of a [`Topology`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTopology {
    entities: BTreeSet<EntityId>,
    edges: BTreeSet<Edge>,
}

impl From<StoredTopology> for Topology {
    fn from(stored: StoredTopology) -> Self {
        let mut topology = Self::default();
        for entity in stored.entities {
            topology.add_entity(entity);
        }
        for edge in stored.edges {
            topology.add_edge(edge);
        }
        topology
    }
}

impl Serialize for Topology {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Stored<'t> {
            entities: Vec<&'t EntityId>,
            edges: &'t BTreeSet<Arc<Edge>>,
        }
        let entities = self.entities().collect();
        Stored { entities, edges: &self.0.edges }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> EntityId {
        EntityId::new(name).unwrap()
    }

    #[test]
    fn directions_follow_the_effects() {
        let cases = [
            (EffectDirection::SourceToTarget, Direction::Downstream, Direction::Upstream),
            (EffectDirection::TargetToSource, Direction::Upstream, Direction::Downstream),
            (EffectDirection::Both, Direction::Both, Direction::Both),
        ];
        for (effects, from_source, from_target) in cases {
            let mut topology = Topology::default();
            assert!(topology.connect(&id("a"), "calls", &id("b"), effects));
            assert!(!topology.connect(&id("a"), "calls", &id("b"), effects));
            let rows = |of: &str| topology.neighbours(&id(of));
            let row = |name: &str, outgoing, direction| Neighbour {
                entity: id(name),
                relation: "calls".into(),
                outgoing,
                direction,
            };
            assert_eq!(rows("a"), [row("b", true, from_source)]);
            assert_eq!(rows("b"), [row("a", false, from_target)]);
            let edge = topology.edges().next().unwrap().clone();
            let both = effects == EffectDirection::Both;
            assert_eq!(edge.carries(&id("a"), &id("b")), from_source != Direction::Upstream);
            assert_eq!(
                edge.carries(&id("b"), &id("a")),
                both || from_source == Direction::Upstream
            );
        }
    }

    #[test]
    fn an_entity_is_made_of_its_parts_and_by_its_owners() {
        let mut topology = Topology::default();
        for (source, relation, target) in [
            ("deployment", "owns", "set"),
            ("set", "owns", "pod-1"),
            ("set", "owns", "pod-2"),
            ("deployment", "backs", "service"),
            ("service", "calls", "db"),
            ("pod-1", "owns", "pod-1"),
        ] {
            topology.connect(&id(source), relation, &id(target), EffectDirection::Both);
        }
        let makings =
            |of: &str| topology.makings(&id(of)).iter().map(ToString::to_string).collect();
        for (of, expected) in [
            ("service", vec!["deployment", "pod-1", "pod-2", "set"]),
            ("deployment", vec!["pod-1", "pod-2", "set"]),
            ("pod-1", vec!["deployment", "set"]),
            ("db", vec![]),
            ("nothing", vec![]),
        ] {
            let found: Vec<String> = makings(of);
            assert_eq!(found, expected, "{of}");
        }
    }

    #[test]
    fn a_self_loop_makes_no_neighbour() {
        let mut topology = Topology::default();
        topology.connect(&id("a"), "calls", &id("a"), EffectDirection::Both);
        assert_eq!(topology.neighbours(&id("a")), []);
        assert_eq!(topology.edges_at(&id("a")).count(), 1);
    }

    #[test]
    fn a_removed_edge_leaves_its_ends() {
        let mut topology = Topology::default();
        topology.connect(&id("a"), "calls", &id("b"), EffectDirection::Both);
        topology.connect(&id("a"), "mounts", &id("b"), EffectDirection::Both);
        let edge = topology.edges().next().unwrap().clone();
        assert!(topology.remove_edge(&edge));
        assert!(!topology.remove_edge(&edge));
        assert_eq!(topology.neighbours(&id("b")).len(), 1);
        assert!(topology.contains(&id("a")) && topology.contains(&id("b")));
        assert_eq!(topology.edges().len(), 1);
    }

    #[test]
    fn what_is_read_back_has_its_index_again() {
        let mut topology = Topology::default();
        topology.add_entity(id("alone"));
        topology.connect(&id("a"), "calls", &id("b"), EffectDirection::TargetToSource);
        let text = serde_json::to_string(&topology).unwrap();
        let again: Topology = serde_json::from_str(&text).unwrap();
        assert_eq!(again, topology);
        assert_eq!(again.neighbours(&id("b")), topology.neighbours(&id("b")));
        assert!(serde_json::from_str::<Topology>(r#"{"entities":[],"edges":[],"x":1}"#).is_err());
    }
}
