//! The frontier: origins that no origin of another strongly connected component explains.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::ClaimGraph;
use super::coverage::{OnsetOf, explained_by_each, reached_by_others};
use super::probability::Hypotheses;
use super::{Confidence, OriginGroup};
use crate::ids::EntityId;
use crate::state::State;

pub(super) struct Frontier {
    /// By name of their first origin.
    pub(super) groups: Vec<Found>,
    pub(super) derived: Vec<EntityId>,
}

/// A group of the frontier, with the data that only the conclusion needs.
pub(super) struct Found {
    pub(super) group: OriginGroup,
    pub(super) members: Vec<u32>,
    pub(super) onsets: BTreeSet<OnsetOf>,
}

impl Found {
    /// Takes in the origins of another group, which share a change with these.
    pub(super) fn add(&mut self, other: Self) {
        self.group.origins.extend(other.group.origins);
        self.group.origins.sort();
        self.group.mutual = false;
        self.members.extend(other.members);
        self.onsets.extend(other.onsets);
        self.group.covers = covers(&self.onsets);
    }
}

fn covers(onsets: &BTreeSet<OnsetOf>) -> Vec<usize> {
    let mut covers: Vec<usize> = onsets.iter().map(|(anomaly, _)| *anomaly).collect();
    covers.dedup();
    covers
}

/// Computes the groups of irreducible origins and what they cover.
///
/// An origin that another component's origin reaches over a consistent chain is derived from it, as
/// long as nothing is lost by that: reachability in time is not transitive, so what the derived
/// one explains may be out of reach of those that explain it. Then those of the derived origins
/// that explain something which nothing in the frontier does compete among themselves in the same
/// way, until all that any origin explains is explained by the frontier. Without times the first
/// round is all there is.
///
/// For each onset of an anomaly one search, linear in claims but for a logarithm where times
/// differ; for each round as much.
pub(super) fn find(state: &State, graph: &ClaimGraph<'_>, origins: &[&EntityId]) -> Frontier {
    let numbers: Vec<u32> = origins.iter().filter_map(|origin| graph.number(origin)).collect();
    let explained = explained_by_each(state, graph, &numbers);
    let mut covered: BTreeSet<usize> = BTreeSet::new();
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut left: Vec<usize> = (0..numbers.len()).collect();
    let mut rivals = left.clone();
    while !rivals.is_empty() {
        let competing: Vec<u32> = rivals.iter().map(|&rival| numbers[rival]).collect();
        let is_reached = reached_by_others(graph, &competing);
        let free = |rival: &usize| !is_reached[super::claims::wide(numbers[*rival])];
        for &origin in rivals.iter().filter(|rival| free(rival)) {
            groups.entry(graph.component_of(numbers[origin])).or_default().push(origin);
            covered.extend(explained[origin].iter().map(|(anomaly, _)| *anomaly));
        }
        let of_round: BTreeSet<usize> = rivals.into_iter().filter(free).collect();
        left.retain(|origin| !of_round.contains(origin));
        let adds = |origin: &usize| explained[*origin].iter().any(|(a, _)| !covered.contains(a));
        rivals = left.iter().copied().filter(adds).collect();
    }
    let name = |origin: &usize| graph.name(numbers[*origin]).clone();
    let mut groups: Vec<Found> = groups
        .into_values()
        .map(|members| {
            let onsets: BTreeSet<OnsetOf> =
                members.iter().flat_map(|&member| explained[member].iter().copied()).collect();
            let mut named: Vec<EntityId> = members.iter().map(name).collect();
            named.sort();
            let members = members.iter().map(|&member| numbers[member]).collect();
            Found { group: group(named, &onsets), members, onsets }
        })
        .collect();
    groups.sort_by(|a, b| a.group.origins.cmp(&b.group.origins));
    let mut derived: Vec<EntityId> = left.iter().map(name).collect();
    derived.sort();
    Frontier { groups, derived }
}

/// Adds the groups of origins that changed too often, if no other origin explains anything.
pub(super) fn add_unsteady(
    found: &mut Frontier,
    state: &State,
    graph: &ClaimGraph<'_>,
    unsteady: &[&EntityId],
) {
    if unsteady.is_empty() || found.groups.iter().any(|found| !found.group.covers.is_empty()) {
        return;
    }
    let others = find(state, graph, unsteady).groups.into_iter();
    found.groups.extend(others.filter(|other| !other.group.covers.is_empty()));
    found.groups.sort_by(|a, b| a.group.origins.cmp(&b.group.origins));
}

/// Takes out groups for which the evidence speaks less than for others that explain the same, and returns their
/// origins, by name: groups are taken in the order of their log-odds as long as they explain an anomaly that none of
/// those before them does. Groups without log-odds stay.
pub(super) fn leave_out_the_outweighed(
    found: &mut Frontier,
    hypotheses: &Hypotheses<'_>,
) -> Vec<EntityId> {
    let log_odds = |found: &Found| hypotheses.log_odds(&found.group.origins);
    let weighed = found.groups.iter().map(log_odds).enumerate();
    let mut weighed: Vec<(i32, usize)> =
        weighed.filter_map(|(place, log_odds)| Some((log_odds?, place))).collect();
    weighed.sort_by_key(|&(log_odds, place)| (std::cmp::Reverse(log_odds), place));
    let (mut explained, mut left_out) = (BTreeSet::new(), BTreeSet::new());
    for (_, place) in weighed {
        let covers = &found.groups[place].group.covers;
        if !covers.is_empty() && covers.iter().all(|anomaly| explained.contains(anomaly)) {
            left_out.insert(place);
        }
        explained.extend(covers.iter().copied());
    }
    let mut places = 0..;
    let out =
        found.groups.extract_if(.., |_| places.next().is_some_and(|at| left_out.contains(&at)));
    let mut origins: Vec<EntityId> = out.flat_map(|found| found.group.origins).collect();
    origins.sort();
    origins
}

fn group(origins: Vec<EntityId>, onsets: &BTreeSet<OnsetOf>) -> OriginGroup {
    OriginGroup {
        mutual: origins.len() > 1,
        origins,
        covers: covers(onsets),
        confidence: Confidence::Likely,
        doubts: Vec::new(),
        change: None,
        shared_change: None,
        open_changes: Vec::new(),
        harm: None,
        chance: None,
        probability: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::{Belief, Claim, Label};
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
            let claim = Claim::new(&name(number), &name(number + 1), "", "");
            state.supersede(&name(number), &[], std::slice::from_ref(&claim));
            let label = if is_origin { Label::Origin } else { Label::Symptom };
            let claims = vec![claim];
            state.node(&name(number)).belief = Some(Belief { claims, ..Belief::new(label, "") });
        }
        state
    }

    #[test]
    fn long_chains_do_not_exhaust_the_stack() {
        let state = ring(20_000);
        let (first, last) = (state.nodes.first_key_value(), state.nodes.last_key_value());
        let origins: Vec<&EntityId> = first.into_iter().chain(last).map(|(name, _)| name).collect();
        let found = find(&state, &ClaimGraph::new(&state), &origins);
        assert_eq!(found.groups.len(), 1);
        assert!(found.groups[0].group.mutual);
        assert_eq!(found.groups[0].group.origins.len(), 2);
        assert_eq!(found.derived, []);
    }
}
