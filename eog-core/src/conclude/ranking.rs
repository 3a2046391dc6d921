//! Best effort without an origin (paper B.9.3): visited entities by a documented, integer score.

use serde::{Deserialize, Serialize};

use super::frontier::ClaimGraph;
use crate::belief::Label;
use crate::evidence::EvidenceKind;
use crate::ids::EntityId;
use crate::state::{Node, State};

/// One visited entity with its score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranked {
    /// The entity.
    pub entity: EntityId,
    /// Its label.
    pub label: Label,
    /// What its rank rests on.
    pub score: Score,
}

/// The parts of a rank score, each an integer; the rank goes by their sum, then by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// 0 to 500: half the best score that any policy decision in force gives the entity as a
    /// candidate.
    pub judged: u32,
    /// 0 to 300: the share of anomalies that its live claims reach.
    pub reach: u32,
    /// 150 when its own local evidence holds a change.
    pub change: u32,
    /// 50 for `Origin` and `Defer`, 20 for `Symptom`, 0 for `Healthy`.
    pub label: u32,
}

impl Score {
    /// The sum of the parts, 0 to 1000.
    pub fn total(&self) -> u32 {
        self.judged + self.reach + self.change + self.label
    }
}

pub(super) fn rank(state: &State) -> Vec<Ranked> {
    let graph = ClaimGraph::new(state);
    let visited = state.nodes.iter().filter_map(|(entity, node)| {
        let label = node.belief.as_ref()?.label;
        Some(Ranked {
            entity: entity.clone(),
            label,
            score: score(state, &graph, entity, node, label),
        })
    });
    let mut ranking: Vec<Ranked> = visited.collect();
    // The nodes come by name, and the sort is stable.
    ranking.sort_by_key(|ranked| std::cmp::Reverse(ranked.score.total()));
    ranking
}

fn score(state: &State, graph: &ClaimGraph, entity: &EntityId, node: &Node, label: Label) -> Score {
    let judgements = state.nodes.values().flat_map(|node| &node.scores);
    let judged =
        judgements.filter(|s| s.entity == *entity).map(|s| u32::from(s.score.min(1000))).max();
    let reach = graph.reach(&[entity]);
    let reached = state.anomalies.iter().filter(|a| reach.contains(&a.entity)).count();
    let share = (reached * 300).checked_div(state.anomalies.len()).unwrap_or(0);
    let has_change = node.seen.keys().any(|id| id.kind() == EvidenceKind::Change);
    Score {
        judged: judged.unwrap_or(0) / 2,
        reach: u32::try_from(share).unwrap_or(0),
        change: if has_change { 150 } else { 0 },
        label: match label {
            Label::Origin | Label::Defer => 50,
            Label::Symptom => 20,
            Label::Healthy => 0,
        },
    }
}
