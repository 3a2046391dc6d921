//! What to do with a tree: expand, hold, prune, or end.

use std::collections::BTreeSet;
use std::sync::Arc;

use eog_core::EntityId;
use eog_search::ask::PlanAsk;
use eog_search::{Action, Metadata, MetadataValue, NodeId, Phase as NodePhase, PlanAction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path::{Detail, EvaluationLine, LeadLine, Named, Writer};
use super::{empty, kept, score};
use crate::Phase;
use crate::phases::frame::IncidentLines;
use crate::phases::lines::NeighbourLine;

/// Plans how a tree grows.
#[derive(Clone, Copy, Debug)]
pub struct Plan;

/// A tree.
#[derive(Clone, Debug, Serialize)]
pub struct PlanInput {
    #[serde(flatten)]
    incident: IncidentLines,
    nodes: Vec<NodeLine>,
    /// Where the case says to start, if the root may be expanded.
    seeds: Vec<LeadLine>,
    /// The nodes that may be expanded or held.
    expandable: Vec<String>,
    room: u32,
    scores: bool,
    accept: u16,
    /// Why the plan before was refused; empty if none was.
    refused: String,
    #[serde(skip)]
    named: Named,
    #[serde(skip)]
    ask: Arc<PlanAsk>,
}

/// One node.
#[derive(Clone, Debug, Serialize)]
struct NodeLine {
    node: String,
    state: &'static str,
    /// Empty if it has none.
    score: String,
    /// What its evaluator said beside the score.
    metadata: Vec<String>,
    #[serde(flatten)]
    evaluation: EvaluationLine,
    /// The neighbours of its entity, if it may be expanded.
    neighbours: Vec<NeighbourLine>,
}

impl PlanInput {
    /// The input for a question of a search.
    pub fn new(ask: &PlanAsk, detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let nodes = ask.nodes.iter().map(|node| NodeLine {
            node: node.id.to_string(),
            state: if node.held { "held" } else { state(node.phase) },
            score: node.score.map(|score| score.to_string()).unwrap_or_default(),
            metadata: entries(&node.metadata),
            evaluation: writer.evaluation(&node.seen),
            neighbours: match ask.expandable.contains(&node.id) {
                true => writer.neighbours(node.seen.action.entity(), &ask.path(&node.id)),
                false => Vec::new(),
            },
        });
        let nodes = nodes.collect();
        let starts = ask.expandable.iter().any(NodeId::is_root);
        Self {
            incident: writer.incident(),
            nodes,
            seeds: if starts { writer.seeds() } else { Vec::new() },
            expandable: ask.expandable.iter().map(ToString::to_string).collect(),
            room: ask.room,
            scores: ask.scores,
            accept: ask.accept,
            refused: ask.refused.as_deref().map(kept).unwrap_or_default(),
            named: writer.named(),
            ask: Arc::new(ask.clone()),
        }
    }

    /// A node by name.
    fn node(&self, name: &str) -> Result<NodeId, String> {
        let id = name.parse::<NodeId>().ok();
        let known = id.filter(|id| id.is_root() || self.ask.node(id).is_some());
        known.ok_or_else(|| format!("there is no node {:?}", kept(name)))
    }

    /// A node that may be expanded or held.
    fn open(&self, name: &str) -> Result<NodeId, String> {
        let id = self.node(name)?;
        let open = self.ask.expandable.contains(&id);
        let words = || {
            let all = self.expandable.join(", ");
            format!("node {id} cannot be expanded now; these can: {all}")
        };
        if open { Ok(id) } else { Err(words()) }
    }

    fn expansion(&self, expansion: &PlanExpansion) -> Result<(NodeId, EntityId), String> {
        let parent = self.open(&expansion.below)?;
        let entity = self.named.resolve(&expansion.entity)?;
        let is_above = self.ask.path(&parent).iter().any(|seen| *seen.action.entity() == entity);
        if is_above {
            return Err(format!("{} is on the path to {parent} already", expansion.entity));
        }
        Ok((parent, entity))
    }

    fn scored(&self, name: &str) -> Result<NodeId, String> {
        let id = self.node(name)?;
        let known = self.ask.node(&id);
        match known.is_some_and(|it| it.phase == NodePhase::Scored && it.score.is_some()) {
            true => Ok(id),
            false => Err(format!("node {id} has no score")),
        }
    }

    fn prunable(&self, name: &str) -> Result<NodeId, String> {
        let id = self.node(name)?;
        if id.is_root() { Err("the root cannot be pruned".to_owned()) } else { Ok(id) }
    }
}

fn entries(metadata: &Metadata) -> Vec<String> {
    let entry = |(name, value): (&String, &MetadataValue)| kept(&format!("{name}: {value}"));
    metadata.0.iter().map(entry).collect()
}

fn state(phase: NodePhase) -> &'static str {
    match phase {
        NodePhase::Pending => "waits",
        NodePhase::Running => "runs",
        NodePhase::Scored => "done",
        NodePhase::EvalFailed => "without a score",
        NodePhase::Failed => "failed",
        NodePhase::Pruned => "pruned",
        NodePhase::Solution => "the result",
        _ => "",
    }
}

/// A plan. All of it is carried out, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanAnswer {
    /// the node that explains the alerts, to end the search with it; else null
    pub converge: Option<String>,
    /// new looks, best first
    pub expand: Vec<PlanExpansion>,
    /// nodes that need no further looks below them
    pub hold: Vec<PlanNote>,
    /// nodes to give up, with all below them
    pub prune: Vec<PlanNote>,
}

/// A new look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanExpansion {
    /// a node that may be expanded
    pub below: String,
    /// name of the entity to look at
    pub entity: String,
    /// 0 to 1000: what you expect of it; null where no score is asked for
    pub score: Option<u16>,
    /// what could be found there, in one sentence
    pub why: String,
}

/// A node, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanNote {
    /// its number
    pub node: String,
    /// one sentence
    pub why: String,
}

impl PlanAnswer {
    /// The actions of an answer without problems.
    pub fn actions(&self, input: &PlanInput) -> Vec<PlanAction> {
        let mut actions = Vec::new();
        for note in &self.prune {
            if let Ok(node) = input.prunable(&note.node) {
                actions.push(PlanAction::Prune { node, reason: kept(&note.why) });
            }
        }
        for note in &self.hold {
            if let Ok(node) = input.open(&note.node) {
                actions.push(PlanAction::Hold { node, reason: kept(&note.why) });
            }
        }
        for new in &self.expand {
            if let Ok((parent, entity)) = input.expansion(new) {
                let action = Action::look(entity, kept(&new.why)).into();
                let score = new.score.filter(|_| input.scores);
                actions.push(PlanAction::Expand { parent, action, score });
            }
        }
        if let Some(Ok(node)) = self.converge.as_deref().map(|name| input.scored(name)) {
            actions.push(PlanAction::Converge { node });
        }
        actions
    }
}

impl Phase for Plan {
    const NAME: &'static str = "search_plan";
    type Input = PlanInput;
    type Answer = PlanAnswer;

    fn problems(input: &PlanInput, answer: &PlanAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        let PlanAnswer { converge, expand, hold, prune } = answer;
        if converge.is_none() && expand.is_empty() && hold.is_empty() && prune.is_empty() {
            problems.push("the plan is empty; expand, hold, prune or converge".to_owned());
        }
        if let Some(Err(reason)) = converge.as_deref().map(|name| input.scored(name)) {
            problems.push(format!("converge: {reason}"));
        }
        if expand.len() > input.room as usize {
            let (given, room) = (expand.len(), input.room);
            problems.push(format!("expand: there is room for {room} new nodes, not for {given}"));
        }
        let mut before = BTreeSet::new();
        for (at, new) in expand.iter().enumerate() {
            let place = format!("expand[{at}]");
            match input.expansion(new) {
                Err(reason) => problems.push(format!("{place}: {reason}")),
                Ok(pair) if !before.insert(pair.clone()) => {
                    problems.push(format!("{place}: {} is named twice", new.entity));
                }
                Ok(_) => {}
            }
            empty(&format!("{place}.why"), &new.why, &mut problems);
            match new.score {
                None if input.scores => problems.push(format!("{place}.score: give a score")),
                given => score(&format!("{place}.score"), given.unwrap_or(0), &mut problems),
            }
        }
        for (at, note) in hold.iter().enumerate() {
            let place = format!("hold[{at}]");
            input.open(&note.node).err().into_iter().for_each(|reason| {
                problems.push(format!("{place}: {reason}"));
            });
            empty(&format!("{place}.why"), &note.why, &mut problems);
        }
        for (at, note) in prune.iter().enumerate() {
            let place = format!("prune[{at}]");
            input.prunable(&note.node).err().into_iter().for_each(|reason| {
                problems.push(format!("{place}: {reason}"));
            });
            empty(&format!("{place}.why"), &note.why, &mut problems);
        }
        problems
    }
}
