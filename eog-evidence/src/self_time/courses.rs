//! Shares in the requests that an alert is about: along the critical path of each that was slow, and where the
//! error of each that failed began.
//!
//! Means over all requests dilute what hits some of them. Here only the bad ones count, each with its own path, and
//! they are compared with what requests for the same operation took before.

use std::collections::BTreeMap;

use eog_core::{EntityId, Timestamp, Window};

use super::book::Counted;
use super::calls::{Call, Calls};
use super::excess::MIN_CALLS;
use super::trees::Whose;
use crate::stats::{USUAL_PERCENT, percentile};

/// What one entity has of the requests of another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) entity: EntityId,
    /// The caller, where it is time on the way between the two, or a call that never got there.
    pub(crate) way_from: Option<EntityId>,
    /// The operation that has most of it; may be empty. Untrusted text.
    pub(crate) operation: String,
    /// Milliseconds for each bad request, or how many more requests than usual have their first error there.
    pub(crate) amount: f64,
}

/// The bad requests of an entity, and who has how much of what is bad about them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Course {
    /// Requests that took longer than 95 of 100 did before, or that failed; nothing where there is nothing to compare with.
    pub(crate) bad: Option<usize>,
    /// All requests since trouble began.
    pub(crate) all: usize,
    /// How much longer each takes than usual, in milliseconds, or as a whole where there is nothing to compare with; or
    /// how many more fail.
    pub(crate) whole: f64,
    /// The entities that have it, the most first: those that have more than usual.
    pub(crate) parts: Vec<Part>,
    /// The first and the last of them.
    pub(crate) time: (Timestamp, Timestamp),
}

/// Sums by who had it, and by operation.
type Sums<'a> = BTreeMap<Whose<'a>, f64>;

/// Draws up the course of the bad requests of an entity, if their traces are known.
pub(super) fn course(
    calls: &Calls,
    counted: Counted,
    entity: &EntityId,
    (split, end): (Timestamp, Timestamp),
) -> Option<Course> {
    let served: Vec<&Call> = calls.served(entity).iter().filter(|call| call.time < end).collect();
    let known = |call: &&&Call| calls.trees().own_ms(call.span).is_some();
    let (before, after): (Vec<&Call>, Vec<&Call>) =
        served.iter().filter(known).partition(|call| call.time < split);
    let (bad, sums) = match counted {
        Counted::Time => slow(calls, &before, &after)?,
        Counted::Failures => failed(calls, &before, &after)?,
    };
    let time = (bad.first()?.time, bad.last()?.time);
    Course::of((Some(bad.len()), after.len()), &sums, time)
}

/// The same of all requests of an entity, with whole times: for alerts about what was slow from the beginning. Nothing where
/// some of them failed: then it is not their time that is wrong.
pub(super) fn whole_course(calls: &Calls, entity: &EntityId, window: Window) -> Option<Course> {
    let served = calls.served(entity).iter().filter(|call| window.contains(call.time));
    let all: Vec<&Call> = served.filter(|call| calls.trees().own_ms(call.span).is_some()).collect();
    if all.iter().any(|call| call.failed == Some(true)) {
        return None;
    }
    let parts = Usual::of(calls, &all)?.parts;
    Course::of((None, all.len()), &parts, (all.first()?.time, all.last()?.time))
}

impl Course {
    fn of(
        (bad, all): (Option<usize>, usize),
        sums: &Sums<'_>,
        time: (Timestamp, Timestamp),
    ) -> Option<Self> {
        let mut parts: BTreeMap<(Option<&EntityId>, &EntityId), (f64, &str, f64)> = BTreeMap::new();
        for (whose, amount) in sums {
            let (key, operation) = match whose {
                Whose::Work(entity, operation) => ((None, *entity), *operation),
                Whose::Way(caller, callee) => ((Some(*caller), *callee), ""),
            };
            let known = parts.entry(key).or_insert((0.0, operation, f64::NEG_INFINITY));
            known.0 += amount;
            if *amount > known.2 {
                (known.1, known.2) = (operation, *amount);
            }
        }
        let whole: f64 = sums.values().sum();
        let mut parts: Vec<Part> = parts
            .into_iter()
            .filter(|(_, (amount, ..))| *amount > 0.0)
            .map(|((caller, entity), (amount, operation, _))| Part {
                entity: entity.clone(),
                way_from: caller.cloned(),
                operation: operation.to_owned(),
                amount,
            })
            .collect();
        parts.sort_by(|a, b| b.amount.total_cmp(&a.amount));
        (whole > 0.0).then_some(Self { bad, all, whole, parts, time })
    }
}

/// The slow requests, and who has how much of what each takes longer.
fn slow<'a>(
    calls: &'a Calls,
    before: &[&'a Call],
    after: &[&'a Call],
) -> Option<(Vec<&'a Call>, Sums<'a>)> {
    let mut usual: BTreeMap<u32, Usual<'a>> = BTreeMap::new();
    let whole = Usual::of(calls, before)?;
    let mut bad = Vec::new();
    let mut sums = Sums::new();
    for call in after {
        let usual = usual.entry(call.operation).or_insert_with(|| {
            let same: Vec<&Call> =
                before.iter().copied().filter(|one| one.operation == call.operation).collect();
            Usual::of(calls, &same).unwrap_or_else(|| whole.clone())
        });
        if call.ms <= usual.limit {
            continue;
        }
        bad.push(*call);
        calls.trees().along_the_path(call.span, |whose, ms| *sums.entry(whose).or_default() += ms);
        for (whose, ms) in &usual.parts {
            *sums.entry(*whose).or_default() -= ms;
        }
    }
    let count = bad.len();
    sums.values_mut().for_each(|sum| *sum /= count.max(1) as f64);
    (count >= MIN_CALLS).then_some((bad, sums))
}

/// What requests usually take, and who has how much of it.
#[derive(Clone)]
struct Usual<'a> {
    limit: f64,
    parts: Sums<'a>,
}

impl<'a> Usual<'a> {
    fn of(calls: &'a Calls, before: &[&'a Call]) -> Option<Self> {
        if before.len() < MIN_CALLS {
            return None;
        }
        let limit = percentile(before.iter().map(|call| call.ms), USUAL_PERCENT)?;
        let mut parts = Sums::new();
        for call in before {
            calls
                .trees()
                .along_the_path(call.span, |whose, ms| *parts.entry(whose).or_default() += ms);
        }
        parts.values_mut().for_each(|sum| *sum /= before.len() as f64);
        Some(Self { limit, parts })
    }
}

/// The failed requests, and how many more than usual have their first error where.
fn failed<'a>(
    calls: &'a Calls,
    before: &[&'a Call],
    after: &[&'a Call],
) -> Option<(Vec<&'a Call>, Sums<'a>)> {
    let failed = |all: &[&'a Call]| -> Vec<&'a Call> {
        all.iter().copied().filter(|call| call.failed == Some(true)).collect()
    };
    let (usual, bad) = (failed(before), failed(after));
    if bad.len() < MIN_CALLS || before.len() < MIN_CALLS {
        return None;
    }
    let mut sums = Sums::new();
    let first = |call: &&'a Call| calls.trees().first_error(call.span);
    for whose in bad.iter().filter_map(first) {
        *sums.entry(whose).or_default() += 1.0;
    }
    let longer = after.len() as f64 / before.len() as f64;
    for whose in usual.iter().filter_map(first) {
        *sums.entry(whose).or_default() -= longer;
    }
    Some((bad, sums))
}

#[cfg(test)]
mod tests;
