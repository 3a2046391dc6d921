//! Distances from the seeds, which `Order::Priority` uses. Kept up to date while the adjacency
//! grows: a search over all of it at every dispatch would cost more than the commit.

use std::collections::{BTreeMap, VecDeque};

use crate::ids::EntityId;
use crate::state::State;

/// The undirected distance of every reachable entity to the nearest seed.
#[derive(Clone, Debug)]
pub(super) struct Distances(BTreeMap<EntityId, usize>);

impl Distances {
    /// Searches the whole adjacency.
    pub(super) fn new(state: &State) -> Self {
        let mut distances = Self(state.seeds.iter().map(|seed| (seed.clone(), 0)).collect());
        distances.spread(state, state.seeds.iter().cloned().collect());
        distances
    }

    /// Records two entities that exchange messages from now on.
    pub(super) fn join(&mut self, state: &State, a: &EntityId, b: &EntityId) {
        self.spread(state, VecDeque::from([a.clone(), b.clone()]));
    }

    /// The distance of an entity; the largest number when no seed reaches it.
    pub(super) fn of(&self, entity: &EntityId) -> usize {
        self.0.get(entity).copied().unwrap_or(usize::MAX)
    }

    /// Shortens the distances of the neighbours of these entities, and so on.
    fn spread(&mut self, state: &State, mut queue: VecDeque<EntityId>) {
        while let Some(entity) = queue.pop_front() {
            let Some(hops) = self.0.get(&entity).map(|hops| hops + 1) else { continue };
            for next in state.adjacent(&entity) {
                if hops < self.of(&next) {
                    self.0.insert(next.clone(), hops);
                    queue.push_back(next);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::ClaimEdge;
    use crate::incident::case::{Case, Seed};
    use crate::incident::topology::{EffectDirection, Topology};
    use crate::incident::window::Window;

    #[test]
    fn kept_up_to_date_they_are_what_a_search_finds() {
        let entities = 30;
        let name = |number: usize| EntityId::new(format!("e{:02}", number % entities)).unwrap();
        let at = |text: &str| text.parse().unwrap();
        let window = Window::new(at("2026-01-01T10:00:00Z"), at("2026-01-01T11:00:00Z")).unwrap();
        let mut topology = Topology::default();
        for number in (0..entities - 1).filter(|number| number % 3 != 2) {
            let calls = EffectDirection::TargetToSource;
            topology.connect(&name(number), "calls", &name(number + 1), calls);
        }
        let mut case = Case::from_anomalies(topology, window, vec![]);
        case.seeds.push(Seed { entity: name(0), reason: String::new() });
        case.seeds.push(Seed { entity: name(16), reason: String::new() });
        let mut state = State::new(&case);
        let mut kept = Distances::new(&state);
        let mut seen = Vec::new();
        for step in 1..40_usize {
            let edge = ClaimEdge { cause: name(step * 7), effect: name(step * step * 11 + 1) };
            state.join(&edge);
            kept.join(&state, &edge.cause, &edge.effect);
            let fresh = Distances::new(&state);
            assert_eq!(kept.0, fresh.0, "after {edge:?}");
            seen.push(fresh.0.len());
        }
        assert!(seen.first() < seen.last(), "no join ever reached anyone");
    }
}
