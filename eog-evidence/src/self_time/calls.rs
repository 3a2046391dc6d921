//! Traced calls, sorted: what each entity served, and what it asked of its callees.

use std::collections::BTreeMap;
use std::sync::Arc;

use eog_core::{EntityId, Timestamp};

use super::book::Counted;
use super::numbers::Numbers;
use super::traced::{TracedSpan, numbered};
use super::trees::Trees;
use crate::spans::SpanRecord;

/// One call: when it began, how long it took, and whether it failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) time: Timestamp,
    /// How long it took, in milliseconds. Of calls made side by side, the part that the caller would not
    /// have waited for the others.
    pub(super) ms: f64,
    pub(super) failed: Option<bool>,
    /// Whether the failure of a call that was made became one of its request, where that is known.
    pub(super) passed_on: Option<bool>,
    /// The operation, as a number ([`Calls::operation`]).
    pub(super) operation: u32,
    /// Its number among the spans.
    pub(super) span: u32,
}

/// All traced calls of an incident, each list by time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    served: BTreeMap<EntityId, Vec<Call>>,
    made: BTreeMap<EntityId, BTreeMap<EntityId, Vec<Call>>>,
    operations: Arc<Vec<String>>,
    trees: Trees,
}

impl Calls {
    /// Sorts recorded spans. A span whose peer is a callee is a call that its entity made; any other is one that it
    /// served. Spans without a finite duration are passed over.
    pub(crate) fn of<'a>(spans: impl Iterator<Item = &'a SpanRecord>) -> Self {
        Self::of_traced(&numbered(spans))
    }

    /// The same of spans wherever they were recorded.
    pub(crate) fn of_traced(spans: &[TracedSpan<'_>]) -> Self {
        let numbers = Numbers::of(spans);
        let trees = Trees::of(spans, &numbers);
        let waited = trees.waited_for();
        let mut lists: BTreeMap<(u32, Option<u32>), Vec<Call>> = BTreeMap::new();
        for (place, (span, named)) in spans.iter().zip(&numbers.spans).enumerate() {
            if !span.duration_ms.is_finite() {
                continue;
            }
            let ms = waited.get(place).copied().flatten().unwrap_or(span.duration_ms);
            let (operation, failed, place) = (named.operation, span.failed, place as u32);
            let passed_on = span.callee.and_then(|_| trees.is_passed_on(place));
            let call = Call { time: span.time, ms, failed, passed_on, operation, span: place };
            lists.entry((named.entity, named.callee)).or_default().push(call);
        }
        let operations = Arc::clone(&numbers.operations);
        let mut calls = Self { operations, trees, ..Self::default() };
        let name = |number: u32| numbers.entities.get(number as usize).cloned();
        for ((entity, callee), mut list) in lists {
            list.sort_by(|a, b| a.time.cmp(&b.time).then(a.ms.total_cmp(&b.ms)));
            let Some(entity) = name(entity) else { continue };
            match callee.and_then(name) {
                Some(callee) => drop(calls.made.entry(entity).or_default().insert(callee, list)),
                None => drop(calls.served.insert(entity, list)),
            }
        }
        calls
    }

    /// The traces that the calls belong to.
    pub(super) fn trees(&self) -> &Trees {
        &self.trees
    }

    /// The name of an operation; empty where it is not known.
    pub(super) fn operation(&self, number: u32) -> &str {
        self.operations.get(number as usize).map_or("", String::as_str)
    }

    /// Whether calls of callers were recorded, and something of them is counted.
    pub(crate) fn can_count(&self, counted: Counted) -> bool {
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

    /// The callees that an entity is recorded to have called.
    pub(crate) fn callees(&self, entity: &EntityId) -> impl Iterator<Item = &EntityId> {
        self.made.get(entity).into_iter().flat_map(BTreeMap::keys)
    }

    /// What an entity served.
    pub(super) fn served(&self, entity: &EntityId) -> &[Call] {
        self.served.get(entity).map_or(&[], Vec::as_slice)
    }

    /// Whether it is known of all requests of an entity which calls they made.
    pub(super) fn are_placed(&self, entity: &EntityId) -> bool {
        self.served(entity).iter().all(|request| self.trees.is_placed(request.span))
    }

    /// How many requests of an entity began after one time and no later than another.
    pub(crate) fn count_served(&self, entity: &EntityId, from: Timestamp, to: Timestamp) -> usize {
        let served = self.served(entity);
        let until = |at| served.partition_point(|call| call.time <= at);
        until(to).saturating_sub(until(from))
    }

    /// The calls that an entity made, by callee.
    pub(super) fn made_by(&self, entity: &EntityId) -> impl Iterator<Item = (&EntityId, &[Call])> {
        let made = self.made.get(entity).into_iter().flatten();
        made.map(|(callee, calls)| (callee, calls.as_slice()))
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
