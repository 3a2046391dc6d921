//! Which onsets of which anomalies an origin explains: over claims that are consistent in time and
//! made for that anomaly.
//!
//! # Definition
//!
//! A chain of claims `v0 > v1 > … > vk`, in which an entity may come twice, is *consistent* when
//! times can be chosen for `v0` and for both ends of each claim, in this order and never decreasing,
//! each within what is known: for `v0` its belief's `since`, for the ends of a claim what the
//! claim says, else the `since` of what is believed of that end, else anything. The choice for `v0` is
//! the earliest one of its interval: that an origin may have begun later does not count against it.
//!
//! An origin `v0` *explains* an onset of an anomaly on `vk` when a consistent chain leads there that
//! can end no later than the onset (an alert fires after its harm began), and the last claim explains
//! that onset; without any claim, when the origin's belief explains it. An anomaly is *covered* when
//! one of its onsets is explained.
//!
//! # Why a search by labels is enough
//!
//! The choice of times succeeds exactly when the greedy one does: the largest lower bound so far, the
//! *floor*, must not be above the upper bound of any later interval. Along a claim a floor `f`
//! becomes `max(f, earliest)`, which grows with `f`; so of two chains to one entity that with the lower
//! floor can do all that the other can. Backwards likewise: the latest floor that still leads to
//! the onset is one label for each entity, and a label is final when it is the greatest of those that
//! are open (Dijkstra). Chains are never listed.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BinaryHeap;

use jiff::Timestamp;

use super::claims::{ClaimGraph, wide};
use crate::belief::Explained;
use crate::incident::case::Anomaly;
use crate::state::State;

/// One onset of an anomaly: the position of the anomaly, and of the onset within it.
pub(super) type OnsetOf = (usize, usize);

/// One onset of an anomaly, as searches end there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'s> {
    pub(super) entity: u32,
    pub(super) name: &'s str,
    pub(super) onset: Timestamp,
}

impl<'s> Target<'s> {
    /// Nothing where the anomaly's entity was neither decided on nor claimed.
    pub(super) fn of(
        graph: &ClaimGraph<'_>,
        anomaly: &'s Anomaly,
        onset: Timestamp,
    ) -> Option<Self> {
        Some(Self { entity: graph.number(&anomaly.entity)?, name: &anomaly.name, onset })
    }

    /// Whether what is said to be explained has this onset.
    pub(super) fn is_among(&self, explained: Option<&[Explained]>) -> bool {
        explained.is_none_or(|list| {
            list.iter().any(|it| it.anomaly == self.name && it.onset == self.onset)
        })
    }
}

/// For each entity the latest floor with which a chain of at least one claim leads from it to one of
/// the targets; nothing where none does. Only claims count that `may` be followed.
pub(super) fn latest_floors(
    graph: &ClaimGraph<'_>,
    targets: &[Target<'_>],
    may: impl Fn(u32) -> bool,
) -> Vec<Option<Timestamp>> {
    let mut labels: Vec<Option<Timestamp>> = vec![None; graph.entities()];
    let mut open = BinaryHeap::new();
    let raise = |labels: &mut Vec<Option<Timestamp>>, entity: u32, floor: Timestamp| {
        let label = &mut labels[wide(entity)];
        let is_later = label.is_none_or(|label| floor > label);
        if is_later {
            *label = Some(floor);
        }
        is_later
    };
    for target in targets {
        for &claim in graph.claims_to(target.entity) {
            if !target.is_among(graph.claim(claim).explains()) || !may(claim) {
                continue;
            }
            let cause = graph.claim(claim).cause;
            if let Some(floor) = graph.backward(claim, target.onset)
                && raise(&mut labels, cause, floor)
            {
                open.push((floor, cause));
            }
        }
    }
    // Those whose label is as late as the one that was just final: without times, all of them.
    let mut level: Vec<u32> = Vec::new();
    while let Some((floor, entity)) = open.pop() {
        if labels[wide(entity)] != Some(floor) {
            continue;
        }
        level.push(entity);
        while let Some(effect) = level.pop() {
            for &claim in graph.claims_to(effect) {
                let cause = graph.claim(claim).cause;
                if labels[wide(cause)].is_some_and(|label| label >= floor) || !may(claim) {
                    continue;
                }
                let Some(before) = graph.backward(claim, floor) else { continue };
                if raise(&mut labels, cause, before) {
                    if before == floor {
                        level.push(cause);
                    } else {
                        open.push((before, cause));
                    }
                }
            }
        }
    }
    labels
}

/// The claims over which a chain that is consistent in time leads to one of the targets, as cause and
/// effect.
pub(super) fn leading_to(
    graph: &ClaimGraph<'_>,
    targets: &[Target<'_>],
) -> impl Iterator<Item = (u32, u32)> {
    let labels = latest_floors(graph, targets, |_| true);
    let mut ends: BTreeMap<u32, Vec<&Target<'_>>> = BTreeMap::new();
    for target in targets {
        ends.entry(target.entity).or_default().push(target);
    }
    graph.claims().filter_map(move |claim| {
        let link = graph.claim(claim);
        let ends_there = |target: &&Target<'_>| {
            target.is_among(link.explains()) && graph.backward(claim, target.onset).is_some()
        };
        let leads = ends.get(&link.effect).is_some_and(|ends| ends.iter().any(ends_there))
            || labels[wide(link.effect)]
                .is_some_and(|floor| graph.backward(claim, floor).is_some());
        leads.then_some((link.cause, link.effect))
    })
}

/// For each entity the earliest floor with which a chain leads to it from one of the sources,
/// themselves included. Only claims count that `may` be followed.
pub(super) fn earliest_floors(
    graph: &ClaimGraph<'_>,
    sources: &[u32],
    may: impl Fn(u32) -> bool,
) -> Vec<Option<Timestamp>> {
    let mut labels = vec![None; graph.entities()];
    for &source in sources {
        labels[wide(source)] = Some(graph.start(source));
    }
    lower(graph, &mut labels, sources, may);
    labels
}

/// Makes labels final that only those of the sources can lower, over claims that `may` be followed.
fn lower(
    graph: &ClaimGraph<'_>,
    labels: &mut [Option<Timestamp>],
    sources: &[u32],
    may: impl Fn(u32) -> bool,
) {
    let known = sources.iter().filter_map(|&entity| Some((Reverse(labels[wide(entity)]?), entity)));
    let mut open: BinaryHeap<(Reverse<Timestamp>, u32)> = known.collect();
    while let Some((Reverse(floor), entity)) = open.pop() {
        if labels[wide(entity)] != Some(floor) {
            continue;
        }
        for &claim in graph.claims_from(entity) {
            if !may(claim) {
                continue;
            }
            let effect = graph.claim(claim).effect;
            if let Some(after) = graph.forward(claim, floor)
                && labels[wide(effect)].is_none_or(|label| after < label)
            {
                labels[wide(effect)] = Some(after);
                open.push((Reverse(after), effect));
            }
        }
    }
}

/// For each entity, whether a consistent chain leads to it from one of the origins in *another*
/// component.
///
/// Components are taken causes first. Each entity has two labels: the earliest floor from any
/// origin, and that from origins of other components. What leaves a component comes from another
/// one for the component that it enters.
pub(super) fn reached_by_others(graph: &ClaimGraph<'_>, origins: &[u32]) -> Vec<bool> {
    let mut any: Vec<Option<Timestamp>> = vec![None; graph.entities()];
    let mut foreign = any.clone();
    let mut is_origin = vec![false; graph.entities()];
    origins.iter().for_each(|&origin| is_origin[wide(origin)] = true);
    for members in graph.causes_first() {
        let Some(&first) = members.first() else { continue };
        let own = graph.component_of(first);
        let inside = |claim: u32| graph.component_of(graph.claim(claim).effect) == own;
        for &member in members {
            any[wide(member)] = foreign[wide(member)];
            if is_origin[wide(member)] {
                let start = graph.start(member);
                let label = &mut any[wide(member)];
                *label = Some(label.map_or(start, |label| label.min(start)));
            }
        }
        lower(graph, &mut foreign, members, inside);
        lower(graph, &mut any, members, inside);
        for &member in members {
            let Some(floor) = any[wide(member)] else { continue };
            for &claim in graph.claims_from(member).iter().filter(|claim| !inside(**claim)) {
                let Some(after) = graph.forward(claim, floor) else { continue };
                let label = &mut foreign[wide(graph.claim(claim).effect)];
                *label = Some(label.map_or(after, |label| label.min(after)));
            }
        }
    }
    foreign.iter().map(Option::is_some).collect()
}

/// What each of some origins explains, by their order.
pub(super) fn explained_by_each(
    state: &State,
    graph: &ClaimGraph<'_>,
    origins: &[u32],
) -> Vec<Vec<OnsetOf>> {
    let mut explained = vec![Vec::new(); origins.len()];
    // Without times and lists of what is explained, one search serves all anomalies of an entity.
    let mut of_entity: BTreeMap<u32, Vec<Option<Timestamp>>> = BTreeMap::new();
    for (position, anomaly) in state.anomalies.iter().enumerate() {
        for (number, onset) in anomaly.onsets().enumerate() {
            let Some(target) = Target::of(graph, anomaly, onset) else { break };
            let says_all = |claim: &u32| graph.claim(*claim).explains().is_none();
            let is_plain =
                graph.is_timeless() && graph.claims_to(target.entity).iter().all(says_all);
            let search = || latest_floors(graph, &[target], |_| true);
            let searched;
            let labels = if is_plain {
                let end = Target { onset: Timestamp::MAX, ..target };
                &*of_entity
                    .entry(target.entity)
                    .or_insert_with(|| latest_floors(graph, &[end], |_| true))
            } else {
                searched = search();
                &searched
            };
            for (origin, explained) in origins.iter().zip(&mut explained) {
                if is_explained(state, graph, *origin, &target, labels) {
                    explained.push((position, number));
                }
            }
        }
    }
    explained
}

/// Whether an origin explains an onset, given the [`latest_floors`] that lead there.
pub(super) fn is_explained(
    state: &State,
    graph: &ClaimGraph<'_>,
    origin: u32,
    target: &Target<'_>,
    labels: &[Option<Timestamp>],
) -> bool {
    let start = graph.start(origin);
    let over_claims = labels[wide(origin)].is_some_and(|floor| start <= floor);
    over_claims || (start <= target.onset && explains_itself(state, graph, origin, target))
}

/// Whether the belief about an origin accounts for an onset on the origin itself.
pub(super) fn explains_itself(
    state: &State,
    graph: &ClaimGraph<'_>,
    origin: u32,
    target: &Target<'_>,
) -> bool {
    let belief = || state.get(graph.name(origin)).and_then(|node| node.belief.as_ref());
    origin == target.entity
        && belief().is_none_or(|belief| target.is_among(belief.explains.as_deref()))
}
