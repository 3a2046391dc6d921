//! `build_topology`: the operational graph as nodes and edges.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::incident::{Edge, EffectDirection};
use eog_core::{EntityId, Topology};
use serde::{Deserialize, Serialize};

use super::entities::{self, Chosen};
use super::query::{Names, Page, Pattern, near};
use super::tool::Tool;
use super::{ToolError, Toolbox};
use crate::graph::relation;
use crate::names;

/// The operational graph, or the requested part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuildTopology {
    /// Only these nodes: the full name of an entity, the end of its name if that is unique, or a
    /// pattern such as `shop/*`. An edge is shown if both of its ends are.
    pub entity: Option<String>,
    /// Only nodes in these namespaces; patterns such as `shop*` are allowed.
    pub namespaces: Names,
    /// Only nodes of these kinds, such as `Service`.
    pub kinds: Names,
    /// Only edges of these relations, such as `calls`. Nodes without edges remain.
    pub relations: Names,
    /// Return only the counts, without nodes and edges.
    pub counts_only: bool,
    /// Maximum number of nodes, and of edges: 50 by default, at most 1000; 0 means 1000.
    pub limit: Option<usize>,
    /// Number of nodes, and of edges, to skip.
    pub offset: usize,
}

/// One entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologyNode {
    /// The entity.
    pub id: EntityId,
    /// Its kind, such as `Service`.
    pub kind: String,
    /// Its bare name.
    pub name: String,
    /// Its namespace, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// One edge, read "source *relation* target".
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologyEdge {
    /// The source of the relation.
    pub source: EntityId,
    /// The relation; see [`relation`](crate::relation).
    pub relation: String,
    /// The target of the relation.
    pub target: EntityId,
    /// In which direction failures travel.
    pub effects: EffectDirection,
}

impl From<&Edge> for TopologyEdge {
    fn from(edge: &Edge) -> Self {
        Self {
            source: edge.source.clone(),
            relation: edge.relation.clone(),
            target: edge.target.clone(),
            effects: edge.effects,
        }
    }
}

/// A name and how often it occurs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedCount {
    /// The name.
    pub name: String,
    /// How often it occurs.
    pub count: usize,
}

/// The answer to [`BuildTopology`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologyPage {
    /// Number of nodes of each kind on all pages, most frequent first.
    pub kinds: Vec<NamedCount>,
    /// Number of edges of each relation on all pages, most frequent first.
    pub relations: Vec<NamedCount>,
    /// The nodes, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Page<TopologyNode>>,
    /// The edges, by source, target and relation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edges: Option<Page<TopologyEdge>>,
    /// Names that could not be resolved.
    pub warnings: Vec<String>,
}

impl Tool for BuildTopology {
    const NAME: &'static str = "build_topology";
    const SUMMARY: &'static str = "The operational graph: entities and the relations between them";
    const DESCRIPTION: &'static str = "\
Nodes and edges of the operational graph, built from owner references, selectors, mounts,
environment values that name a host, traced calls and the declared architecture. Each edge says in
which direction failures travel. Begin with counts_only; to look around one entity,
topology_analysis is shorter.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"counts_only": true}"#,
        r#"{"namespaces": "shop", "kinds": "Service", "relations": "calls", "limit": 200}"#,
    ];
    type Answer = TopologyPage;

    fn run(&self, toolbox: &Toolbox) -> Result<TopologyPage, ToolError> {
        let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
        self.of(graph.topology(), || entities::known(snapshot, graph), graph.warnings())
    }
}

impl BuildTopology {
    /// The answer by a topology, the entities that can be named, and the names that could not be resolved.
    pub(super) fn of<'t>(
        &self,
        topology: &'t Topology,
        known: impl FnOnce() -> BTreeSet<&'t EntityId>,
        warnings: &[String],
    ) -> Result<TopologyPage, ToolError> {
        let entity = Chosen::new(known, self.entity.as_deref())?;
        let spaces = topology.entities().filter_map(names::namespace_of).collect();
        let namespaces = Choice::new("namespaces", &self.namespaces, &spaces)?;
        let kinds =
            Choice::new("kinds", &self.kinds, &topology.entities().map(names::kind_of).collect())?;
        let relations = Choice::new("relations", &self.relations, &relations_of(topology))?;
        let is_chosen = |id: &&EntityId| {
            entity.fits(id)
                && namespaces.fits(names::namespace_of(id).unwrap_or_default())
                && kinds.fits(names::kind_of(id))
        };
        let nodes: BTreeSet<&EntityId> = topology.entities().filter(is_chosen).collect();
        let is_chosen = |edge: &&Edge| {
            nodes.contains(&edge.source)
                && nodes.contains(&edge.target)
                && relations.fits(&edge.relation)
        };
        let edges: Vec<&Edge> = topology.edges().filter(is_chosen).collect();
        let (limit, offset, shown) = (self.limit, self.offset, !self.counts_only);
        Ok(TopologyPage {
            kinds: counted(nodes.iter().map(|id| names::kind_of(id)).filter(|it| !it.is_empty())),
            relations: counted(edges.iter().map(|edge| edge.relation.as_str())),
            nodes: shown.then(|| Page::cut(nodes.into_iter(), offset, limit, node)),
            edges: shown.then(|| Page::cut(edges.into_iter(), offset, limit, TopologyEdge::from)),
            warnings: warnings.to_vec(),
        })
    }
}

/// The relations that can be named: those of the domain, and others that there are.
pub(super) fn relations_of(topology: &Topology) -> BTreeSet<&str> {
    let others = topology.edges().map(|edge| edge.relation.as_str());
    relation::ALL.into_iter().chain(others).collect()
}

fn node(id: &EntityId) -> TopologyNode {
    TopologyNode {
        id: id.clone(),
        kind: names::kind_of(id).to_owned(),
        name: names::bare(id).to_owned(),
        namespace: names::namespace_of(id).map(str::to_owned),
    }
}

fn counted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<NamedCount> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut counts: Vec<NamedCount> = counts
        .into_iter()
        .map(|(name, count)| NamedCount { name: name.to_owned(), count })
        .collect();
    counts.sort_by_key(|one| std::cmp::Reverse(one.count));
    counts
}

/// Names that were chosen, or all when none was.
pub(super) struct Choice(Vec<Pattern>);

impl Choice {
    /// # Errors
    /// [`ToolError::Argument`] for a name that is no pattern and not among the known.
    pub(super) fn new(
        argument: &str,
        names: &Names,
        known: &BTreeSet<&str>,
    ) -> Result<Self, ToolError> {
        let mut patterns = Vec::new();
        for name in names.iter() {
            if !name.contains(['*', '?']) && !known.contains(name) {
                let reason = format!("there is no {name:?}");
                let hint = near(name, known.iter().copied(), argument);
                return Err(ToolError::argument(argument, reason, hint));
            }
            let pattern = Pattern::new(name);
            patterns.push(pattern.map_err(|reason| ToolError::argument(argument, reason, ""))?);
        }
        Ok(Self(patterns))
    }

    pub(super) fn fits(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.fits(name))
    }
}
