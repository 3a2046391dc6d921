//! Best effort without an origin (paper B.9.3): visited entities by a documented, integer score.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::claims::ClaimGraph;
use super::probability::Hypotheses;
use crate::belief::Label;
use crate::evidence::Verdict;
use crate::evidence::kind::EvidenceKind;
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
    /// The probability in thousandths that it is the origin, where the policy gives log-odds: their softmax over all
    /// entities that were judged and *no known origin*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<u16>,
}

/// What a rank is based on. Where the policy weighs evidence, its log-odds decide; else the sum of the other parts;
/// then the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// How strongly the evidence, its own or that handed to it, speaks for the entity as an origin, in thousandths of natural log-odds
    /// ([`Measures::log_odds`](crate::Measures::log_odds)), where its policy states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_odds: Option<i32>,
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
    /// The sum of the parts other than the log-odds, 0 to 1000.
    pub fn total(&self) -> u32 {
        self.judged + self.reach + self.change + self.label
    }

    /// What ranks compare: equal ones are tied.
    pub fn rank(&self) -> (Option<i32>, u32) {
        (self.log_odds, if self.log_odds.is_some() { 0 } else { self.total() })
    }
}

/// Ranks all entities with a belief, without those that an operator ruled out:
/// linear in entities and claims for every 64 anomalies.
pub(super) fn rank(state: &State, graph: &ClaimGraph<'_>) -> Vec<Ranked> {
    let mut judged: BTreeMap<&EntityId, u32> = BTreeMap::new();
    for candidate in state.nodes.values().flat_map(|node| &node.scores) {
        let best = judged.entry(&candidate.entity).or_default();
        *best = (*best).max(u32::from(candidate.score.min(1000)));
    }
    let mut reached = vec![0_usize; graph.components()];
    for anomalies in state.anomalies.chunks(64) {
        let reaches = graph.reaches(anomalies.iter().map(|anomaly| &anomaly.entity));
        for (count, bits) in reached.iter_mut().zip(reaches) {
            *count += bits.count_ones() as usize;
        }
    }
    let hypotheses = Hypotheses::of(state);
    let ranked = |entity: &EntityId, label: Label, change: u32| {
        // An entity that was never decided on makes no claim, and reaches itself alone.
        let itself = || state.anomalies.iter().filter(|a| a.entity == *entity).count();
        let reached = graph.component(entity).map_or_else(itself, |component| reached[component]);
        let share = (reached * 300).checked_div(state.anomalies.len()).unwrap_or(0);
        let score = Score {
            log_odds: hypotheses.log_odds(std::slice::from_ref(entity)),
            judged: judged.get(entity).copied().unwrap_or(0) / 2,
            reach: u32::try_from(share).unwrap_or(0),
            change,
            label: label_score(label),
        };
        let own = std::slice::from_ref(entity);
        let probability = hypotheses.probability(own, &BTreeSet::new());
        Ranked { entity: entity.clone(), label, score, probability }
    };
    let judged = state.nodes.iter().filter_map(|(entity, node)| {
        let label = node.belief.as_ref()?.label;
        let is_possible = node.verdict() != Some(Verdict::NotCause);
        is_possible.then(|| ranked(entity, label, change_score(node)))
    });
    let outside = state.outside().into_keys().map(|system| ranked(system, Label::Origin, 0));
    let mut ranking: Vec<Ranked> = judged.chain(outside).collect();
    // The nodes come by name, and the sort is stable.
    ranking.sort_by_key(|ranked| std::cmp::Reverse(ranked.score.rank()));
    ranking
}

fn change_score(node: &Node) -> u32 {
    let has_change = node.seen.keys().any(|id| id.kind() == EvidenceKind::Change);
    if has_change { 150 } else { 0 }
}

fn label_score(label: Label) -> u32 {
    match label {
        Label::Origin | Label::Defer => 50,
        Label::Symptom => 20,
        Label::Healthy => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::Belief;
    use crate::evidence::Signal;
    use crate::incident::case::{Anomaly, Case};
    use crate::incident::topology::Topology;
    use crate::incident::window::Window;

    #[test]
    fn an_entity_never_decided_on_reaches_itself() {
        let at = |text: &str| text.parse().unwrap();
        let window = Window::new(at("2026-01-01T10:00:00Z"), at("2026-01-01T11:00:00Z")).unwrap();
        let name = |name: &str| EntityId::new(name).unwrap();
        let anomaly = |entity: &str| Anomaly {
            name: "Errors".into(),
            entity: name(entity),
            signal: Signal::Errors,
            onset: window.start(),
            renewed: Vec::new(),
            last_seen: None,
            severity: String::new(),
            description: String::new(),
        };
        let anomalies = vec![anomaly("cart"), anomaly("db"), anomaly("cart")];
        let mut state = State::new(&Case::from_anomalies(Topology::default(), window, anomalies));
        let (label, summary) = (Label::Defer, "not evaluated".to_owned());
        state.node(&name("cart")).belief = Some(Belief {
            label,
            summary,
            evidence: Vec::new(),
            claims: Vec::new(),
            since: None,
            explains: None,
            rule: None,
            measures: None,
        });
        let ranking = rank(&state, &ClaimGraph::new(&state));
        let score = Score { log_odds: None, judged: 0, reach: 200, change: 0, label: 50 };
        assert_eq!(
            ranking,
            [Ranked { entity: name("cart"), label: Label::Defer, score, probability: None }]
        );
    }
}
