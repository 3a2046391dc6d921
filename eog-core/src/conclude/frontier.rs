//! The frontier: origins that no origin of another strongly connected component reaches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petgraph::graphmap::DiGraphMap;

use super::{CitedChange, Confidence, OriginGroup};
use crate::belief::{Belief, Label};
use crate::evidence::EvidenceKind;
use crate::ids::EntityId;
use crate::state::State;

pub(super) struct Frontier {
    pub(super) groups: Vec<OriginGroup>,
    pub(super) derived: Vec<EntityId>,
}

/// Computes the groups of irreducible origins and what they cover. `O(origins · claims)`.
pub(super) fn find(state: &State) -> Frontier {
    let graph = ClaimGraph::new(state);
    let origins: Vec<&EntityId> = state.labelled(Label::Origin).collect();
    let mut by_component: BTreeMap<usize, Vec<&EntityId>> = BTreeMap::new();
    for origin in &origins {
        by_component.entry(graph.component(origin)).or_default().push(origin);
    }
    let reached: BTreeMap<usize, BTreeSet<&EntityId>> =
        by_component.iter().map(|(&c, members)| (c, graph.reach(members))).collect();
    let is_irreducible = |component: usize, members: &[&EntityId]| {
        let mut others = reached.iter().filter(|(other, _)| **other != component);
        others.all(|(_, reach)| members.iter().all(|member| !reach.contains(*member)))
    };
    let mut groups = Vec::new();
    let mut derived = Vec::new();
    for (&component, members) in &by_component {
        if is_irreducible(component, members) {
            groups.push(group(state, members, &reached[&component]));
        } else {
            derived.extend(members.iter().map(|member| (*member).clone()));
        }
    }
    groups.sort_by(|a, b| a.origins.cmp(&b.origins));
    derived.sort();
    Frontier { groups, derived }
}

fn group(state: &State, members: &[&EntityId], reach: &BTreeSet<&EntityId>) -> OriginGroup {
    let changes = members.iter().filter_map(|member| state.get(member)).flat_map(|node| {
        let cited = node.belief.iter().flat_map(Belief::cited);
        cited
            .filter(|id| id.kind() == EvidenceKind::Change)
            .filter_map(|id| Some(CitedChange { at: node.seen.get(&id)?.start(), id }))
    });
    let reaches = |anomaly: &usize| reach.contains(&state.anomalies[*anomaly].entity);
    OriginGroup {
        origins: members.iter().map(|member| (*member).clone()).collect(),
        mutual: members.len() > 1,
        covers: (0..state.anomalies.len()).filter(reaches).collect(),
        confidence: Confidence::Likely,
        doubts: Vec::new(),
        change: changes.min_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id))),
    }
}

/// The live claims as a directed graph from cause to effect.
pub(super) struct ClaimGraph {
    effects: BTreeMap<EntityId, BTreeSet<EntityId>>,
    components: BTreeMap<EntityId, usize>,
}

impl ClaimGraph {
    pub(super) fn new(state: &State) -> Self {
        let mut effects: BTreeMap<EntityId, BTreeSet<EntityId>> = BTreeMap::new();
        let mut numbers: BTreeMap<EntityId, u32> = BTreeMap::new();
        let mut graph = DiGraphMap::<u32, ()>::new();
        for edge in state.live_claims() {
            let mut number = |entity: &EntityId| {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                *numbers.entry(entity.clone()).or_insert(next)
            };
            graph.add_edge(number(&edge.cause), number(&edge.effect), ());
            effects.entry(edge.cause).or_default().insert(edge.effect);
        }
        // Kosaraju's algorithm is iterative in petgraph; its Tarjan overflows the stack.
        let mut of_number: BTreeMap<u32, usize> = BTreeMap::new();
        for (component, members) in petgraph::algo::kosaraju_scc(&graph).into_iter().enumerate() {
            of_number.extend(members.into_iter().map(|member| (member, component)));
        }
        let mut components: BTreeMap<EntityId, usize> = BTreeMap::new();
        for (entity, number) in numbers {
            components.insert(entity, of_number[&number]);
        }
        let mut next = of_number.len();
        for origin in state.labelled(Label::Origin) {
            components.entry(origin.clone()).or_insert_with(|| {
                next += 1;
                next
            });
        }
        Self { effects, components }
    }

    fn component(&self, entity: &EntityId) -> usize {
        self.components.get(entity).copied().unwrap_or(usize::MAX)
    }

    /// Everything reached from these entities, themselves included.
    pub(super) fn reach<'g>(&'g self, from: &[&'g EntityId]) -> BTreeSet<&'g EntityId> {
        let mut reached: BTreeSet<&EntityId> = from.iter().copied().collect();
        let mut queue: VecDeque<&EntityId> = from.iter().copied().collect();
        while let Some(entity) = queue.pop_front() {
            for effect in self.effects.get(entity).into_iter().flatten() {
                if reached.insert(effect) {
                    queue.push_back(effect);
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::Claim;
    use crate::case::Case;
    use crate::time::Window;
    use crate::topology::Topology;

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
        let found = find(&ring(20_000));
        assert_eq!(found.groups.len(), 1);
        assert!(found.groups[0].mutual);
        assert_eq!(found.groups[0].origins.len(), 2);
        assert_eq!(found.derived, []);
    }
}
