//! The live claims as a graph over numbers, condensed into strongly connected components.

use crate::ids::EntityId;
use crate::live_claims::LiveClaims;

/// The live claims, from cause to effect. Building it and each question is linear in entities and
/// claims.
pub(super) struct ClaimGraph<'s> {
    claims: &'s LiveClaims,
    effects: Effects,
    components: Components,
}

impl<'s> ClaimGraph<'s> {
    pub(super) fn new(claims: &'s LiveClaims) -> Self {
        let effects = Effects::new(claims.entities(), || claims.edges());
        let components = Components::find(&effects);
        Self { claims, effects, components }
    }

    /// How many components there are.
    pub(super) fn components(&self) -> usize {
        self.components.count
    }

    /// The component of an entity that was ever decided on or claimed.
    pub(super) fn component(&self, entity: &EntityId) -> Option<usize> {
        self.claims.number(entity).map(|number| self.components.of(number))
    }

    /// For each component, whether some *other* component reaches it that is marked.
    pub(super) fn reached_by_others(&self, marked: &[bool]) -> Vec<bool> {
        let mut reached = vec![false; self.components.count];
        // Causes come before what they reach, so that a component is complete at its turn.
        for &entity in self.components.order.iter().rev() {
            let cause = self.components.of(entity);
            if !marked[cause] && !reached[cause] {
                continue;
            }
            for &effect in self.effects.of(entity) {
                let effect = self.components.of(effect);
                reached[effect] |= effect != cause;
            }
        }
        reached
    }

    /// For each component, which of these entities it reaches, itself included: one bit for each
    /// of the first 64.
    pub(super) fn reaches<'e>(&self, entities: impl Iterator<Item = &'e EntityId>) -> Vec<u64> {
        let mut reaches = vec![0; self.components.count];
        for (bit, entity) in (0..u64::BITS).zip(entities) {
            if let Some(component) = self.component(entity) {
                reaches[component] |= 1 << bit;
            }
        }
        // Effects come before what reaches them.
        for &entity in &self.components.order {
            let effects = self.effects.of(entity).iter();
            let bits = effects.fold(0, |bits, &e| bits | reaches[self.components.of(e)]);
            reaches[self.components.of(entity)] |= bits;
        }
        reaches
    }
}

/// The effects of each cause, one cause after the other.
struct Effects {
    /// Where the effects of each cause begin; one more at the end.
    starts: Vec<usize>,
    effects: Vec<u32>,
}

impl Effects {
    fn new<E: Iterator<Item = (u32, u32)>>(entities: usize, edges: impl Fn() -> E) -> Self {
        let mut starts = vec![0; entities + 1];
        for (cause, _) in edges() {
            starts[wide(cause) + 1] += 1;
        }
        for cause in 0..entities {
            starts[cause + 1] += starts[cause];
        }
        let mut free = starts.clone();
        let mut effects = vec![0; starts[entities]];
        for (cause, effect) in edges() {
            effects[free[wide(cause)]] = effect;
            free[wide(cause)] += 1;
        }
        Self { starts, effects }
    }

    fn entities(&self) -> usize {
        self.starts.len() - 1
    }

    fn of(&self, cause: u32) -> &[u32] {
        &self.effects[self.starts[wide(cause)]..self.starts[wide(cause) + 1]]
    }
}

/// Strongly connected components.
struct Components {
    /// The component of each entity. A component has a higher number than those it reaches.
    of_entity: Vec<u32>,
    /// All entities by component: effects before causes.
    order: Vec<u32>,
    count: usize,
}

impl Components {
    const OPEN: u32 = u32::MAX;

    fn of(&self, entity: u32) -> usize {
        wide(self.of_entity[wide(entity)])
    }

    /// Tarjan's algorithm. Its path is on the heap: claims can form long chains.
    fn find(effects: &Effects) -> Self {
        let entities = effects.entities();
        let mut found = Self {
            of_entity: vec![Self::OPEN; entities],
            order: Vec::with_capacity(entities),
            count: 0,
        };
        // The earliest open entity known to be reached, by time of entry; 0 before the own entry.
        let mut lowest = vec![0_u32; entities];
        let mut open: Vec<u32> = Vec::new();
        let mut entered = 0;
        for root in 0..narrow(entities) {
            if lowest[wide(root)] != 0 {
                continue;
            }
            entered += 1;
            lowest[wide(root)] = entered;
            open.push(root);
            let mut path = vec![(root, entered, effects.of(root).iter())];
            while let Some((entity, entry, rest)) = path.last_mut() {
                let entity = *entity;
                match rest.next() {
                    Some(&effect) if lowest[wide(effect)] == 0 => {
                        entered += 1;
                        lowest[wide(effect)] = entered;
                        open.push(effect);
                        path.push((effect, entered, effects.of(effect).iter()));
                    }
                    Some(&effect) => {
                        if found.of_entity[wide(effect)] == Self::OPEN {
                            lowest[wide(entity)] = lowest[wide(entity)].min(lowest[wide(effect)]);
                        }
                    }
                    None => {
                        let closes = lowest[wide(entity)] == *entry;
                        path.pop();
                        if closes {
                            found.close(entity, &mut open);
                        } else if let Some((cause, ..)) = path.last() {
                            lowest[wide(*cause)] = lowest[wide(*cause)].min(lowest[wide(entity)]);
                        }
                    }
                }
            }
        }
        found
    }

    /// All that is open since `first` was entered is one component.
    fn close(&mut self, first: u32, open: &mut Vec<u32>) {
        while let Some(member) = open.pop() {
            self.of_entity[wide(member)] = narrow(self.count);
            self.order.push(member);
            if member == first {
                break;
            }
        }
        self.count += 1;
    }
}

/// Entities are numbered in 32 bits: more do not fit into memory.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn wide(number: u32) -> usize {
    number as usize
}

#[cfg(test)]
mod tests {
    use super::{Components, Effects};

    #[test]
    fn components_come_after_what_they_reach() {
        // Two rings of claims, 0-1-2 and 4-5, joined by 2 > 3 > 4; 6 stands alone, 7 explains itself.
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 4), (7, 7), (0, 1)];
        let found = Components::find(&Effects::new(8, || edges.into_iter()));
        let of = |entity: u32| found.of(entity);
        assert_eq!((of(0), of(4)), (of(1), of(5)));
        assert_eq!(of(0), of(2));
        assert!(of(0) > of(3) && of(3) > of(4));
        assert_eq!(found.count, 5);
        let sorted = found.order.windows(2).all(|pair| of(pair[0]) <= of(pair[1]));
        assert!(sorted && found.order.len() == 8);
    }

    #[test]
    fn long_chains_do_not_exhaust_the_stack() {
        let last = 200_000;
        let edges: Vec<(u32, u32)> = (0..last).map(|cause| (cause, cause + 1)).collect();
        let found = Components::find(&Effects::new(last as usize + 1, || edges.iter().copied()));
        assert_eq!((found.of(0), found.of(last)), (last as usize, 0));
    }
}
