//! `topology_analysis`: what stands around one entity.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use eog_core::incident::Edge;
use eog_core::{EntityId, Topology};
use serde::{Deserialize, Serialize};

use super::query::{Names, Page};
use super::tool::Tool;
use super::{ToolError, Toolbox, entities};
use crate::graph::{owned_by, relation};
use crate::names;

use super::build_topology::{Choice, relations_of};

/// Steps from the entity unless a number is given.
const DEFAULT_HOPS: u32 = 3;

/// Most steps.
const MAX_HOPS: u32 = 20;

/// Which relations of the entity to return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TopologyMode {
    /// Everything below.
    #[default]
    All,
    /// Where its failures can come from, and what they can reach.
    Dependencies,
    /// Its callers, direct or through others.
    Callers,
    /// What it calls, directly or through others.
    Callees,
    /// Its owners, what it owns, what it runs on, what it mounts, and what serves or restricts it.
    Infrastructure,
}

/// In which direction dependencies are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EffectSide {
    /// In both directions.
    #[default]
    Both,
    /// To where effects come from: what it depends on.
    Upstream,
    /// To where effects go: what depends on it.
    Downstream,
}

/// What surrounds one entity in the operational graph.
///
/// A workload or pod calls and is called as the services that it backs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologyAnalysis {
    /// The full name of an entity such as `shop/Service/cart`, or the end of its name if that is
    /// unique.
    pub entity: String,
    /// What to return: all, dependencies, callers, callees or infrastructure.
    pub mode: TopologyMode,
    /// Maximum number of hops from the entity: 3 by default, at most 20. Infrastructure is
    /// followed to its end unless this is given.
    pub hops: Option<u32>,
    /// In which direction dependencies are followed: upstream (what it depends on), downstream
    /// (what depends on it), or both.
    pub direction: EffectSide,
    /// Follow only edges of these relations, such as `calls`.
    pub relations: Names,
    /// Maximum number of rows in each section: 50 by default, at most 1000; 0 means 1000.
    pub limit: Option<usize>,
    /// Number of rows to skip in each section.
    pub offset: usize,
}

/// An entity that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reached {
    /// The entity.
    pub entity: EntityId,
    /// Number of hops from the entity.
    pub hops: u32,
    /// The entity before it on the way.
    pub from: EntityId,
    /// The edge of the last hop, read "source relation target".
    pub edge: String,
}

/// The answer to [`TopologyAnalysis`]. Sections that were not requested are absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologyView {
    /// The full name of the entity.
    pub entity: EntityId,
    /// Where its failures can come from, nearest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Page<Reached>>,
    /// What its failures can reach, nearest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependents: Option<Page<Reached>>,
    /// Its callers and those that send it load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callers: Option<Page<Reached>>,
    /// What it calls or sends load to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callees: Option<Page<Reached>>,
    /// Owners, owned, nodes, mounts, services, workloads, autoscalers, policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure: Option<Page<Reached>>,
}

impl Tool for TopologyAnalysis {
    const NAME: &'static str = "topology_analysis";
    const SUMMARY: &'static str = "What surrounds one entity: dependencies, calls, infrastructure";
    const DESCRIPTION: &'static str = "\
For one entity: where its failures can come from (dependencies) and what they can reach
(dependents), who calls it and what it calls, and its infrastructure: owners, pods, nodes, mounts,
autoscalers, policies. Each row says in how many hops it was reached, from which entity, and over
which edge.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"entity": "shop/Service/cart"}"#,
        r#"{"entity": "Service/cart", "mode": "dependencies", "direction": "upstream", "hops": 2}"#,
        r#"{"entity": "ConfigMap/settings", "mode": "infrastructure"}"#,
    ];
    type Answer = TopologyView;

    fn run(&self, toolbox: &Toolbox) -> Result<TopologyView, ToolError> {
        let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
        self.of(graph.topology(), || entities::known(snapshot, graph))
    }
}

impl TopologyAnalysis {
    /// The answer by a topology and the entities that can be named.
    pub(super) fn of<'t>(
        &self,
        topology: &'t Topology,
        known: impl FnOnce() -> BTreeSet<&'t EntityId>,
    ) -> Result<TopologyView, ToolError> {
        if self.entity.trim().is_empty() {
            let hint = "give one such as shop/Service/cart; build_topology lists all of them";
            return Err(ToolError::argument("entity", "is missing", hint));
        }
        let known = known();
        let entity = entities::one(&known, &self.entity)?;
        if self.hops.is_some_and(|hops| hops > MAX_HOPS) {
            let reason = format!("at most {MAX_HOPS} hops are allowed");
            return Err(ToolError::argument("hops", reason, ""));
        }
        let relations = Choice::new("relations", &self.relations, &relations_of(topology))?;
        let walk = Walk { topology, relations, hops: self.hops.unwrap_or(DEFAULT_HOPS) };
        let page = |reached: Vec<Reached>| {
            Page::cut(reached.into_iter(), self.offset, self.limit, |one| one)
        };
        let (mode, side) = (self.mode, self.direction);
        let wants = |one: TopologyMode| mode == TopologyMode::All || mode == one;
        let wants_side = |one: EffectSide| {
            wants(TopologyMode::Dependencies) && matches!(side, EffectSide::Both)
                || wants(TopologyMode::Dependencies) && side == one
        };
        let start = BTreeSet::from([entity]);
        Ok(TopologyView {
            entity: entity.clone(),
            dependencies: wants_side(EffectSide::Upstream)
                .then(|| page(walk.follow(&start, |at, edge| upstream(at, edge)))),
            dependents: wants_side(EffectSide::Downstream)
                .then(|| page(walk.follow(&start, |at, edge| downstream(at, edge)))),
            callers: wants(TopologyMode::Callers)
                .then(|| page(walk.follow(&faces(topology, entity), |at, edge| caller(at, edge)))),
            callees: wants(TopologyMode::Callees)
                .then(|| page(walk.follow(&faces(topology, entity), |at, edge| callee(at, edge)))),
            infrastructure: wants(TopologyMode::Infrastructure)
                .then(|| page(walk.hierarchy(entity, self.hops.unwrap_or(MAX_HOPS)))),
        })
    }
}

/// The entity and the services that it stands behind, itself or with what it owns.
fn faces<'a>(topology: &'a Topology, entity: &'a EntityId) -> BTreeSet<&'a EntityId> {
    let mut faces = BTreeSet::from([entity]);
    for one in owned_by(topology, entity).iter().chain([entity]) {
        let backs = |edge: &&Edge| edge.relation == relation::BACKS && edge.source == *one;
        faces.extend(topology.edges_at(one).filter(backs).map(|edge| &edge.target));
    }
    faces
}

/// The other end of an edge when effects come from there.
fn upstream<'a>(at: &EntityId, edge: &'a Edge) -> Option<&'a EntityId> {
    let other = other_end(at, edge);
    edge.carries(other, at).then_some(other)
}

fn downstream<'a>(at: &EntityId, edge: &'a Edge) -> Option<&'a EntityId> {
    let other = other_end(at, edge);
    edge.carries(at, other).then_some(other)
}

const CALLS: [&str; 3] = [relation::CALLS, relation::ROUTES, relation::SENDS_LOAD];

fn caller<'a>(at: &EntityId, edge: &'a Edge) -> Option<&'a EntityId> {
    (CALLS.contains(&edge.relation.as_str()) && edge.target == *at).then_some(&edge.source)
}

fn callee<'a>(at: &EntityId, edge: &'a Edge) -> Option<&'a EntityId> {
    (CALLS.contains(&edge.relation.as_str()) && edge.source == *at).then_some(&edge.target)
}

fn other_end<'a>(at: &EntityId, edge: &'a Edge) -> &'a EntityId {
    if edge.source == *at { &edge.target } else { &edge.source }
}

struct Walk<'g> {
    topology: &'g Topology,
    relations: Choice,
    hops: u32,
}

impl Walk<'_> {
    /// Everything that is reached step by step, the nearest first, then by name.
    fn follow<'g>(
        &'g self,
        start: &BTreeSet<&'g EntityId>,
        step: impl Fn(&EntityId, &'g Edge) -> Option<&'g EntityId>,
    ) -> Vec<Reached> {
        let mut known: BTreeSet<&EntityId> = start.clone();
        let mut layer: Vec<&EntityId> = start.iter().copied().collect();
        let mut reached = Vec::new();
        for hops in 1..=self.hops {
            let mut next: BTreeMap<&EntityId, (&EntityId, &Edge)> = BTreeMap::new();
            for at in layer {
                let edges = self.topology.edges_at(at);
                for edge in edges.filter(|edge| self.relations.fits(&edge.relation)) {
                    if let Some(other) = step(at, edge).filter(|other| !known.contains(other)) {
                        next.entry(other).or_insert((at, edge));
                    }
                }
            }
            layer = next.keys().copied().collect();
            known.extend(&layer);
            reached.extend(next.into_iter().map(|(to, (from, edge))| found(to, hops, from, edge)));
        }
        reached
    }

    /// The infrastructure of an entity: up to its owners and services, down to pods, nodes and
    /// mounts, without the siblings that a turn on the way would lead to.
    fn hierarchy(&self, entity: &EntityId, most: u32) -> Vec<Reached> {
        let mut known = BTreeSet::from([entity]);
        let mut open = VecDeque::from([(entity, Way::Start, 0)]);
        let mut reached = Vec::new();
        while let Some((at, way, hops)) = open.pop_front() {
            if hops == most {
                continue;
            }
            let edges = self.topology.edges_at(at);
            let mut steps: Vec<(&EntityId, Way, &Edge)> = edges
                .filter(|edge| self.relations.fits(&edge.relation))
                .filter_map(|edge| Some((other_end(at, edge), way.turn(at, edge)?, edge)))
                .collect();
            steps.sort_by_key(|(to, _, _)| *to);
            for (to, way, edge) in steps {
                if known.insert(to) {
                    reached.push(found(to, hops + 1, at, edge));
                    open.push_back((to, way, hops + 1));
                }
            }
        }
        reached
    }
}

fn found(to: &EntityId, hops: u32, from: &EntityId, edge: &Edge) -> Reached {
    let (source, target) = (names::short(&edge.source), names::short(&edge.target));
    Reached {
        entity: to.clone(),
        hops,
        from: from.clone(),
        edge: format!("{source} {} {target}", edge.relation),
    }
}

/// How an entity of the infrastructure was come to, which decides how to go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Start,
    /// To what owns it or what it serves.
    Up,
    /// To what it owns, uses or is served by.
    Down,
    /// To who uses it: on to what is owned and served by that one.
    User,
    /// To what acts on it: no further.
    End,
}

impl Way {
    /// How the other end of an edge is come to, if it is.
    fn turn(self, at: &EntityId, edge: &Edge) -> Option<Self> {
        let leaves = edge.source == *at;
        let starts = self == Self::Start;
        let (up, down) = match self {
            Self::Start | Self::User => (true, true),
            Self::Up => (true, false),
            Self::Down => (false, true),
            Self::End => return None,
        };
        match edge.relation.as_str() {
            relation::OWNS if leaves => down.then_some(Self::Down),
            relation::OWNS => up.then_some(Self::Up),
            relation::BACKS if leaves => up.then_some(Self::Up),
            relation::BACKS => (down && self != Self::User).then_some(Self::Down),
            relation::MOUNTS | relation::RUNS_ON if leaves => Some(Self::Down),
            relation::MOUNTS | relation::RUNS_ON => starts.then_some(Self::User),
            relation::SCALES | relation::RESTRICTS | relation::CONTAINS | relation::INJECTS
                if leaves =>
            {
                // A schedule owns the experiment that acts.
                (starts || self == Self::Down).then_some(Self::User)
            }
            relation::SCALES | relation::RESTRICTS | relation::CONTAINS | relation::INJECTS => {
                Some(Self::End)
            }
            _ => None,
        }
    }
}
