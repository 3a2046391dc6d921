//! The requests of an entity, each with the calls that it made.

use std::collections::BTreeMap;

use eog_core::{EntityId, Timestamp};

use super::calls::{Call, Calls};

/// Where the places of spans are not known, at most so many calls are considered for a request, the last ones.
const LAST_CALLS: usize = 64;

/// How a request ends whose calls went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// Well, or it is not known how.
    Early,
    /// It fails, and none of its calls did.
    Failed,
}

/// The requests that an entity served up to a time, if it makes calls: without those that failed with a call, and those
/// that failed where it is unknown which calls are their own.
pub(super) fn requests<'a>(
    calls: &'a Calls,
    entity: &EntityId,
    end: Timestamp,
) -> Vec<Request<'a>> {
    if calls.callees(entity).next().is_none() {
        return Vec::new();
    }
    let made = Made::by(calls, entity);
    let served = calls.served(entity).iter().filter(|request| request.time < end);
    served.filter_map(|request| made.request(request)).collect()
}

/// One request, and its callees.
pub(super) struct Request<'a> {
    pub(super) time: Timestamp,
    /// The operation, as a number ([`Calls::operation`]).
    pub(super) operation: u32,
    /// How many calls it made to each callee.
    pub(super) asked: BTreeMap<&'a EntityId, usize>,
    /// The callee it asked last, if that answered well.
    pub(super) last: Option<&'a EntityId>,
    pub(super) how: End,
}

impl<'a> Request<'a> {
    fn new(
        call: &Call,
        asked: impl Iterator<Item = &'a EntityId>,
        last: Option<&'a EntityId>,
        how: End,
    ) -> Self {
        let mut counts: BTreeMap<&EntityId, usize> = BTreeMap::new();
        for callee in asked {
            *counts.entry(callee).or_default() += 1;
        }
        Self { time: call.time, operation: call.operation, asked: counts, last, how }
    }
}

/// The calls that an entity made, to be found for each of its requests.
struct Made<'a> {
    calls: &'a Calls,
    /// By time, for requests whose places are not known.
    by_time: Vec<(&'a Call, &'a EntityId)>,
}

impl<'a> Made<'a> {
    fn by(calls: &'a Calls, entity: &EntityId) -> Self {
        if calls.are_placed(entity) {
            return Self { calls, by_time: Vec::new() };
        }
        let made = calls.made_by(entity);
        let mut by_time: Vec<(&Call, &EntityId)> =
            made.flat_map(|(callee, list)| list.iter().map(move |call| (call, callee))).collect();
        by_time.sort_by(|a, b| (a.0.time, a.1, a.0.span).cmp(&(b.0.time, b.1, b.0.span)));
        Self { calls, by_time }
    }

    /// Nothing of a request that failed with a call, and of one that failed where it is unknown which calls are its own.
    fn request(&self, request: &Call) -> Option<Request<'a>> {
        let trees = self.calls.trees();
        if trees.is_placed(request.span) {
            let all: Vec<(&EntityId, Option<bool>)> = trees.calls_of(request.span).collect();
            let last = all.first().filter(|(_, failed)| *failed != Some(true));
            let how = match trees.begins_error(request.span) {
                Some(true) => End::Failed,
                _ if request.failed == Some(true) => return None,
                _ => End::Early,
            };
            let last = last.map(|(callee, _)| *callee);
            return Some(Request::new(request, all.iter().map(|(callee, _)| *callee), last, how));
        }
        if request.failed == Some(true) {
            return None;
        }
        let length = jiff::SignedDuration::try_from_secs_f64(request.ms / 1e3).ok()?;
        let until = request.time.checked_add(length).ok()?;
        let from = self.by_time.partition_point(|(call, _)| call.time < request.time);
        let to = self.by_time.partition_point(|(call, _)| call.time <= until);
        let from = from.max(to.saturating_sub(LAST_CALLS));
        let within = self.by_time.get(from..to).unwrap_or_default();
        let last = within.last().filter(|(call, _)| call.failed != Some(true));
        let last = last.map(|(_, callee)| *callee);
        Some(Request::new(request, within.iter().map(|(_, callee)| *callee), last, End::Early))
    }
}
