//! The live claims as a graph over numbers: which entity explains which, as far as the times
//! allow, condensed into strongly connected components.

use jiff::Timestamp;

use crate::ids::EntityId;
use crate::incident::onset::Onset;
use crate::live_claims::{LiveClaim, LiveClaims};
use crate::state::State;

/// The live claims that carry, from cause to effect. A claim whose cause began certainly after its
/// effect carries nothing and is not part of it.
///
/// Building it and its condensation are linear in entities and claims, but for looking up names.
pub(super) struct ClaimGraph<'s> {
    numbers: &'s LiveClaims,
    /// By number.
    names: Vec<&'s EntityId>,
    /// Since when the harm of each entity is believed to be there.
    since: Vec<Option<Onset>>,
    claims: Vec<&'s LiveClaim>,
    effects: Arcs,
    causes: Arcs,
    components: Components,
    timeless: bool,
}

impl<'s> ClaimGraph<'s> {
    pub(super) fn new(state: &'s State) -> Self {
        let numbers = &state.live;
        let mut named: Vec<(u32, &EntityId)> = numbers.numbered().map(|(e, n)| (n, e)).collect();
        named.sort_unstable_by_key(|(number, _)| *number);
        let names: Vec<&EntityId> = named.into_iter().map(|(_, entity)| entity).collect();
        let believed = |entity: &&EntityId| state.get(entity)?.belief.as_ref()?.since;
        let since: Vec<Option<Onset>> = names.iter().map(believed).collect();
        let carries = |claim: &&LiveClaim| step(&times(&since, claim), Timestamp::MIN).is_some();
        let claims: Vec<&LiveClaim> = numbers.claims().filter(carries).collect();
        let timeless = claims.iter().all(|claim| times(&since, claim) == [None, None])
            && since.iter().all(Option::is_none);
        let effects =
            Arcs::new(names.len(), claims.iter().map(|claim| (claim.cause, claim.effect)));
        let causes = Arcs::new(names.len(), claims.iter().map(|claim| (claim.effect, claim.cause)));
        let components = Components::find(&effects);
        Self { numbers, names, since, claims, effects, causes, components, timeless }
    }

    /// Whether neither claims nor beliefs say a time.
    pub(super) fn is_timeless(&self) -> bool {
        self.timeless
    }

    pub(super) fn entities(&self) -> usize {
        self.names.len()
    }

    pub(super) fn number(&self, entity: &EntityId) -> Option<u32> {
        self.numbers.number(entity)
    }

    pub(super) fn name(&self, entity: u32) -> &'s EntityId {
        self.names[wide(entity)]
    }

    /// The earliest time at which what an origin explains can begin.
    pub(super) fn start(&self, origin: u32) -> Timestamp {
        self.since[wide(origin)].map_or(Timestamp::MIN, |since| since.earliest())
    }

    pub(super) fn claim(&self, claim: u32) -> &'s LiveClaim {
        self.claims[wide(claim)]
    }

    pub(super) fn claims(&self) -> impl Iterator<Item = u32> {
        0..narrow(self.claims.len())
    }

    /// The claims by which an entity explains others.
    pub(super) fn claims_from(&self, cause: u32) -> &[u32] {
        self.effects.claims_of(cause)
    }

    /// The claims that explain an entity.
    pub(super) fn claims_to(&self, effect: u32) -> &[u32] {
        self.causes.claims_of(effect)
    }

    /// The earliest time at which the effect can begin, if what leads to the cause does not begin before
    /// `floor`; nothing where the effect is certainly there before.
    pub(super) fn forward(&self, claim: u32, floor: Timestamp) -> Option<Timestamp> {
        step(&times(&self.since, self.claim(claim)), floor)
    }

    /// The latest floor that [`forward`](Self::forward) turns into one of at most `limit`, if any
    /// does.
    pub(super) fn backward(&self, claim: u32, limit: Timestamp) -> Option<Timestamp> {
        let onsets = times(&self.since, self.claim(claim)).into_iter().rev().flatten();
        onsets.into_iter().try_fold(limit, |limit, onset| {
            (onset.earliest() <= limit).then(|| limit.min(onset.latest()))
        })
    }

    /// How many components there are.
    pub(super) fn components(&self) -> usize {
        self.components.count
    }

    /// The component of an entity that was ever decided on or claimed.
    pub(super) fn component(&self, entity: &EntityId) -> Option<usize> {
        self.number(entity).map(|number| self.components.of(number))
    }

    pub(super) fn component_of(&self, entity: u32) -> usize {
        self.components.of(entity)
    }

    /// The members of each component, causes before what they reach.
    pub(super) fn causes_first(&self) -> impl Iterator<Item = &[u32]> {
        self.components
            .order
            .chunk_by(|a, b| self.components.of(*a) == self.components.of(*b))
            .rev()
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

/// When the cause and the effect of a claim began: what it says, else what is believed of them.
fn times(since: &[Option<Onset>], claim: &LiveClaim) -> [Option<Onset>; 2] {
    [
        claim.cause_since().or(since[wide(claim.cause)]),
        claim.effect_since().or(since[wide(claim.effect)]),
    ]
}

fn step(times: &[Option<Onset>; 2], floor: Timestamp) -> Option<Timestamp> {
    times.iter().flatten().try_fold(floor, |floor, onset| {
        (floor <= onset.latest()).then(|| floor.max(onset.earliest()))
    })
}

/// The claims at each entity, one entity after the other.
struct Arcs {
    /// Where those of each entity begin; one more at the end.
    starts: Vec<usize>,
    /// The other end of each.
    ends: Vec<u32>,
    claims: Vec<u32>,
}

impl Arcs {
    fn new(entities: usize, arcs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0; entities + 1];
        for (from, _) in arcs.clone() {
            starts[wide(from) + 1] += 1;
        }
        for entity in 0..entities {
            starts[entity + 1] += starts[entity];
        }
        let mut free = starts.clone();
        let mut ends = vec![0; starts[entities]];
        let mut claims = vec![0; starts[entities]];
        for (claim, (from, to)) in (0..).zip(arcs) {
            ends[free[wide(from)]] = to;
            claims[free[wide(from)]] = claim;
            free[wide(from)] += 1;
        }
        Self { starts, ends, claims }
    }

    fn entities(&self) -> usize {
        self.starts.len() - 1
    }

    fn of(&self, entity: u32) -> &[u32] {
        &self.ends[self.starts[wide(entity)]..self.starts[wide(entity) + 1]]
    }

    fn claims_of(&self, entity: u32) -> &[u32] {
        &self.claims[self.starts[wide(entity)]..self.starts[wide(entity) + 1]]
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
    fn find(effects: &Arcs) -> Self {
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

pub(super) fn wide(number: u32) -> usize {
    number as usize
}

#[cfg(test)]
mod tests {
    use super::{Arcs, Components};

    #[test]
    fn components_come_after_what_they_reach() {
        // Two rings of claims, 0-1-2 and 4-5, joined by 2 > 3 > 4; 6 stands alone, 7 explains itself.
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 4), (7, 7), (0, 1)];
        let found = Components::find(&Arcs::new(8, edges.into_iter()));
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
        let found = Components::find(&Arcs::new(last as usize + 1, edges.iter().copied()));
        assert_eq!((found.of(0), found.of(last)), (last as usize, 0));
    }
}
