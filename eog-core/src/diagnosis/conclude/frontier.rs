//! The frontier: origins that no origin of another strongly connected component reaches.

use std::collections::BTreeMap;

use super::claims::ClaimGraph;
use super::{CitedChange, Confidence, OriginGroup};
use crate::belief::Belief;
use crate::evidence::kind::EvidenceKind;
use crate::ids::EntityId;
use crate::state::State;

pub(super) struct Frontier {
    pub(super) groups: Vec<OriginGroup>,
    pub(super) derived: Vec<EntityId>,
}

/// Computes the groups of irreducible origins and what they cover: linear in entities and claims
/// for every 64 anomalies.
pub(super) fn find(state: &State, graph: &ClaimGraph<'_>, origins: &[&EntityId]) -> Frontier {
    let mut by_component: BTreeMap<usize, Vec<&EntityId>> = BTreeMap::new();
    let mut has_origin = vec![false; graph.components()];
    for &origin in origins {
        let Some(component) = graph.component(origin) else { continue };
        by_component.entry(component).or_default().push(origin);
        has_origin[component] = true;
    }
    let explained = graph.reached_by_others(&has_origin);
    let mut groups: Vec<(usize, OriginGroup)> = Vec::new();
    let mut derived: Vec<EntityId> = Vec::new();
    for (component, members) in by_component {
        if explained[component] {
            derived.extend(members.into_iter().cloned());
        } else {
            groups.push((component, group(state, &members)));
        }
    }
    for (block, anomalies) in state.anomalies.chunks(64).enumerate() {
        let reaches = graph.reaches(anomalies.iter().map(|anomaly| &anomaly.entity));
        for (component, group) in &mut groups {
            let bits = reaches[*component];
            let reached = (0..anomalies.len()).filter(|bit| bits >> bit & 1 == 1);
            group.covers.extend(reached.map(|bit| block * 64 + bit));
        }
    }
    let mut groups: Vec<OriginGroup> = groups.into_iter().map(|(_, group)| group).collect();
    groups.sort_by(|a, b| a.origins.cmp(&b.origins));
    derived.sort();
    Frontier { groups, derived }
}

fn group(state: &State, members: &[&EntityId]) -> OriginGroup {
    let changes = members.iter().filter_map(|member| state.get(member)).flat_map(|node| {
        let cited = node.belief.iter().flat_map(Belief::cited);
        cited
            .filter(|id| id.kind() == EvidenceKind::Change)
            .filter_map(|id| Some(CitedChange { at: node.seen.get(&id)?.start(), id }))
    });
    OriginGroup {
        origins: members.iter().map(|member| (*member).clone()).collect(),
        mutual: members.len() > 1,
        covers: Vec::new(),
        confidence: Confidence::Likely,
        doubts: Vec::new(),
        change: changes.min_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::{Claim, Label};
    use crate::incident::case::Case;
    use crate::incident::topology::Topology;
    use crate::incident::window::Window;

    /// Origins at both ends of a cycle of claims through `length` entities.
    fn ring(length: usize) -> State {
        let at = |text: &str| text.parse().unwrap();
        let window = Window::new(at("2026-01-01T10:00:00Z"), at("2026-01-01T11:00:00Z")).unwrap();
        let mut state = State::new(&Case::from_anomalies(Topology::default(), window, vec![]));
        let name = |number: usize| EntityId::new(format!("e{:06}", number % length)).unwrap();
        for number in 0..length {
            let is_origin = number == 0 || number == length - 1;
            let claim = Claim {
                cause: name(number),
                effect: name(number + 1),
                condition: String::new(),
                observed: String::new(),
                evidence: Vec::new(),
            };
            state.supersede(&name(number), &[], std::slice::from_ref(&claim));
            state.node(&name(number)).belief = Some(Belief {
                label: if is_origin { Label::Origin } else { Label::Symptom },
                summary: String::new(),
                evidence: Vec::new(),
                claims: vec![claim],
            });
        }
        state
    }

    #[test]
    fn long_chains_do_not_exhaust_the_stack() {
        let state = ring(20_000);
        let (first, last) = (state.nodes.first_key_value(), state.nodes.last_key_value());
        let origins: Vec<&EntityId> = first.into_iter().chain(last).map(|(name, _)| name).collect();
        let found = find(&state, &ClaimGraph::new(&state.live), &origins);
        assert_eq!(found.groups.len(), 1);
        assert!(found.groups[0].mutual);
        assert_eq!(found.groups[0].origins.len(), 2);
        assert_eq!(found.derived, []);
    }
}
