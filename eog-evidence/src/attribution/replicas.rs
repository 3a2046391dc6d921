//! Entities that share the work of another: instances of a service, consumers of a queue.
//!
//! Each of many replicas has little of what their service has too much of, and none of them accounts
//! for it. What all of them wait for does.

use std::collections::BTreeSet;

use eog_core::EntityId;

use super::Attribution;
use crate::paths::Travel;
use crate::ways::Number;

impl Attribution<'_> {
    /// Those that share the work of an entity, by name: effects come from them though they are not called, and
    /// they call others. Nothing when it is one alone.
    pub(super) fn replicas(&self, entity: Number) -> Vec<Number> {
        let demand = self.ways.lanes(Travel::Demand);
        let called: BTreeSet<Number> = demand.onward.of(entity).collect();
        let callers: BTreeSet<Number> = demand.back.of(entity).collect();
        let works = |one: &Number| demand.onward.of(*one).next().is_some();
        let is_apart = |one: &Number| !called.contains(one) && !callers.contains(one);
        let all: Vec<Number> =
            self.upstream(entity).filter(|one| is_apart(one) && works(one)).collect();
        if all.len() > 1 { all } else { Vec::new() }
    }

    /// The entity and all who share the same work with it.
    pub(super) fn siblings(&self, entity: &EntityId) -> Vec<&EntityId> {
        let Some(number) = self.ways.number(entity) else { return Vec::new() };
        let onward = self.ways.lanes(Travel::Effects).onward.of(number);
        let shared = onward.map(|whole| self.replicas(whole));
        let all: BTreeSet<Number> =
            shared.filter(|replicas| replicas.contains(&number)).flatten().collect();
        all.into_iter().filter_map(|one| self.ways.name(one)).collect()
    }
}
