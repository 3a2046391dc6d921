//! Traced calls, sorted: what each entity served, and what it asked of whom.

use std::collections::BTreeMap;

use eog_core::evidence::PeerRole;
use eog_core::{EntityId, Timestamp};

use super::book::Counted;
use super::side_by_side;
use crate::spans::SpanRecord;

/// One call: when it began, how long it took, and whether it failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) time: Timestamp,
    /// How long it took, in milliseconds. Of calls made side by side, the part that the caller would not
    /// have waited for the others.
    pub(super) ms: f64,
    pub(super) failed: Option<bool>,
}

/// All traced calls of an incident, each list by time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    served: BTreeMap<EntityId, Vec<Call>>,
    made: BTreeMap<EntityId, BTreeMap<EntityId, Vec<Call>>>,
}

impl Calls {
    /// Sorts spans. A span whose peer is a callee is a call that its entity made; any other is one that it
    /// served. Spans without a finite duration are passed over.
    pub(crate) fn of<'a>(spans: impl Iterator<Item = &'a SpanRecord> + Clone) -> Self {
        let waited = side_by_side::waited_for(spans.clone());
        let mut calls = Self::default();
        for (place, span) in spans.enumerate().filter(|(_, span)| span.duration_ms.is_finite()) {
            let callee = span.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee);
            let ms = waited.get(&place).copied().unwrap_or(span.duration_ms);
            let call = Call { time: span.time, ms, failed: span.failed };
            let list = match callee {
                Some(callee) => {
                    let made = calls.made.entry(span.entity.clone()).or_default();
                    made.entry(callee.entity.clone()).or_default()
                }
                None => calls.served.entry(span.entity.clone()).or_default(),
            };
            list.push(call);
        }
        let lists = calls.made.values_mut().flat_map(BTreeMap::values_mut);
        for list in calls.served.values_mut().chain(lists) {
            list.sort_by(|a, b| a.time.cmp(&b.time).then(a.ms.total_cmp(&b.ms)));
        }
        calls
    }

    /// Whether calls of callers were recorded, and something of them is counted.
    pub(crate) fn tell(&self, counted: Counted) -> bool {
        let mut all = self.ways().flat_map(|(_, _, calls)| calls);
        let failed = |call: &Call| call.failed == Some(true);
        match counted {
            Counted::Time => all.next().is_some(),
            Counted::Failures => all.any(failed) || self.served.values().flatten().any(failed),
        }
    }

    /// Whether anything that an entity served was recorded.
    pub(crate) fn serves(&self, entity: &EntityId) -> bool {
        self.served.contains_key(entity)
    }

    /// Whom an entity is recorded to have called.
    pub(crate) fn callees(&self, entity: &EntityId) -> impl Iterator<Item = &EntityId> {
        self.made.get(entity).into_iter().flat_map(BTreeMap::keys)
    }

    /// What an entity served.
    pub(super) fn served(&self, entity: &EntityId) -> &[Call] {
        self.served.get(entity).map_or(&[], Vec::as_slice)
    }

    /// How many requests of an entity began after one time and no later than another.
    pub(crate) fn count_served(&self, entity: &EntityId, from: Timestamp, to: Timestamp) -> usize {
        let served = self.served(entity);
        let until = |at| served.partition_point(|call| call.time <= at);
        until(to).saturating_sub(until(from))
    }

    /// All calls between two entities that their callers recorded: caller, callee, calls.
    pub(super) fn ways(&self) -> impl Iterator<Item = (&EntityId, &EntityId, &[Call])> {
        self.made.iter().flat_map(|(caller, made)| {
            made.iter().map(move |(callee, calls)| (caller, callee, calls.as_slice()))
        })
    }

    /// Everybody who served or made calls.
    pub(super) fn entities(&self) -> impl Iterator<Item = &EntityId> {
        let mut all: Vec<&EntityId> = self.served.keys().chain(self.made.keys()).collect();
        all.extend(self.ways().map(|(_, callee, _)| callee));
        all.sort_unstable();
        all.dedup();
        all.into_iter()
    }
}
