//! What of an entity stands out: one of its operations, calls that it makes again, requests that wait before it works on
//! them.

use std::collections::BTreeMap;

use eog_core::incident::Onset;
use eog_core::{EntityId, Timestamp};

use super::book::Counted;
use super::calls::{Call, Calls};
use super::excess::{Excess, Measured};
use crate::onsets::share_onset;
use crate::stats::{USUAL_PERCENT, percentile};

/// At most so many operations of an entity are given, those with the most too much first.
const MAX_OPERATIONS: usize = 3;

/// What a detail is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The entity's own work on an operation, or the errors that begin there. Untrusted text.
    Operation(String),
    /// The share of the calls to a callee that are made again after one that failed.
    Retries(EntityId),
    /// Milliseconds from when a message was sent until the entity works on it.
    Waiting,
}

/// Something of an entity that is more than before, beyond chance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Detail {
    pub(crate) what: What,
    /// Requests, or calls, after trouble began.
    pub(crate) count: usize,
    /// The mean before and after: milliseconds, or the share that fails.
    pub(crate) usual: f64,
    pub(crate) now: f64,
    pub(crate) onset: Option<Onset>,
    /// From the first to the last request after trouble began.
    pub(crate) time: (Timestamp, Timestamp),
}

impl Detail {
    /// How much too much it is, over all requests.
    pub(crate) fn total(&self) -> f64 {
        (self.now - self.usual) * self.count as f64
    }
}

/// A list of measurements cut in two.
type Cut<'c> = &'c dyn Fn(&[Measured]) -> (Vec<Measured>, Vec<Measured>);

/// The operations of an entity whose own work takes longer, or where more errors begin; nothing where it has one alone.
pub(super) fn operations(
    calls: &Calls,
    counted: Counted,
    entity: &EntityId,
    cut: Cut<'_>,
) -> Vec<Detail> {
    let served = calls.served(entity);
    let is_leaf = calls.callees(entity).next().is_none();
    let mut of_operations: BTreeMap<&str, Vec<Measured>> = BTreeMap::new();
    for call in served {
        let name = calls.operation(call.operation);
        let own = own_of(calls, counted, call).or_else(|| counted.of(call).filter(|_| is_leaf));
        let Some(own) = own.filter(|_| !name.is_empty()) else { continue };
        of_operations.entry(name).or_default().push((call.time, own));
    }
    if of_operations.len() < 2 {
        return Vec::new();
    }
    let all = of_operations.into_iter();
    let mut found: Vec<Detail> = all
        .filter_map(|(name, list)| detail(What::Operation(name.to_owned()), &list, cut))
        .collect();
    found.sort_by(|a, b| b.total().total_cmp(&a.total()));
    found.truncate(MAX_OPERATIONS);
    found
}

/// What of a request is the entity's own, as its trace shows.
pub(super) fn own_of(calls: &Calls, counted: Counted, call: &Call) -> Option<f64> {
    match counted {
        Counted::Time => calls.trees().own_ms(call.span),
        Counted::Failures => {
            calls.trees().begins_error(call.span).map(|own| f64::from(u8::from(own)))
        }
    }
}

/// Callees that an entity calls again after failures more often than before, and that messages wait for it longer.
pub(super) fn retries_and_waiting(calls: &Calls, entity: &EntityId, cut: Cut<'_>) -> Vec<Detail> {
    let trees = calls.trees();
    let made = calls.made_by(entity).filter_map(|(callee, made)| {
        let again =
            |call: &Call| Some((call.time, f64::from(u8::from(trees.is_made_again(call.span)?))));
        let list: Vec<Measured> = made.iter().filter_map(again).collect();
        detail(What::Retries(callee.clone()), &list, cut)
    });
    let waited = |call: &Call| Some((call.time, trees.wait_ms(call.span)?));
    let waits: Vec<Measured> = calls.served(entity).iter().filter_map(waited).collect();
    let mut found: Vec<Detail> = made.collect();
    found.extend(detail(What::Waiting, &waits, cut));
    found
}

fn detail(what: What, list: &[Measured], cut: Cut<'_>) -> Option<Detail> {
    let (before, after) = cut(list);
    let excess = Excess::of(&before, &after).filter(|excess| excess.stands_out(excess.usual))?;
    let limit = match what {
        What::Retries(_) => 0.5,
        _ => percentile(before.iter().map(|(_, value)| *value), USUAL_PERCENT)?,
    };
    let worse: Vec<(Timestamp, bool)> =
        list.iter().map(|(at, value)| (*at, *value > limit)).collect();
    Some(Detail {
        what,
        count: excess.count,
        usual: excess.usual,
        now: excess.now,
        onset: share_onset(&worse),
        time: (after.first()?.0, after.last()?.0),
    })
}
