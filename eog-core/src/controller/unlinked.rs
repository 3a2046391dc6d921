//! Origins that explain no anomaly although their effects can reach one.

use std::collections::BTreeSet;

use super::named_origins::{MAX_LISTED, named_origin};
use crate::contract::packet::NamedOrigin;
use crate::ids::EntityId;
use crate::incident::topology::Topology;
use crate::state::State;

/// Those of some origins whose effects can reach one of some entities over declared directions, by name. An origin does not
/// reach itself. Linear in the topology but for sorting, where there are any origins.
pub(super) fn reaching<'e>(
    state: &State,
    origins: &BTreeSet<&EntityId>,
    entities: impl IntoIterator<Item = &'e EntityId>,
) -> Vec<NamedOrigin> {
    if origins.is_empty() {
        return Vec::new();
    }
    let entities: BTreeSet<&EntityId> = entities.into_iter().collect();
    let above = upstream_of(&state.topology, entities.iter().copied());
    let reaches_another = |origin: &EntityId| {
        let others = entities.iter().copied().filter(|entity| *entity != origin);
        !entities.contains(origin) || upstream_of(&state.topology, others).contains(origin)
    };
    let reaching = origins.iter().filter(|it| above.contains(**it) && reaches_another(it));
    reaching.take(MAX_LISTED).map(|origin| with_end(state, origin)).collect()
}

/// An origin, with the end of its latest evidence: what was over before something began has not
/// caused it.
fn with_end(state: &State, origin: &EntityId) -> NamedOrigin {
    let node = state.get(origin);
    let belief = node.and_then(|node| node.belief.as_ref());
    let cited = belief.map_or(&[][..], |belief| belief.evidence.as_slice());
    let seen = cited.iter().filter_map(|id| node?.seen.get(id));
    NamedOrigin { until: seen.map(|seen| seen.time.end()).max(), ..named_origin(state, origin) }
}

/// All entities whose effects can reach one of some entities; these themselves only if one of the others reaches
/// them.
fn upstream_of<'e>(
    topology: &Topology,
    entities: impl IntoIterator<Item = &'e EntityId>,
) -> BTreeSet<EntityId> {
    let mut open: Vec<EntityId> = entities.into_iter().cloned().collect();
    let mut above = BTreeSet::new();
    while let Some(entity) = open.pop() {
        for edge in topology.edges_at(&entity) {
            let other = if edge.source == entity { &edge.target } else { &edge.source };
            if edge.carries(other, &entity) && above.insert(other.clone()) {
                open.push(other.clone());
            }
        }
    }
    above
}
