//! Origins as notices list them.

use crate::contract::packet::NamedOrigin;
use crate::ids::EntityId;
use crate::state::State;

/// A notice lists at most so many origins of a kind: beside more of them one is hardly the cause of all.
pub(super) const MAX_LISTED: usize = 16;

/// An origin as notices list it.
pub(super) fn named_origin(state: &State, origin: &EntityId) -> NamedOrigin {
    let belief = state.get(origin).and_then(|node| node.belief.as_ref());
    NamedOrigin {
        entity: origin.clone(),
        rule: belief.and_then(|belief| belief.rule.clone()),
        since: belief.and_then(|belief| belief.since),
        log_odds: belief.and_then(|belief| Some(belief.measures.as_ref()?.log_odds)),
        until: None,
    }
}
