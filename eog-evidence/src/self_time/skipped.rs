//! Callees that requests leave out which asked them before.
//!
//! Means over batches of requests ([`Excess`](super::excess::Excess)) guard against bursts of one kind of request, and
//! need many of them. Where it is known which calls each request made, requests for the same operation are compared
//! with each other, so that few of them say as much, and another mix of operations says nothing.

use std::collections::BTreeMap;

use eog_core::{EntityId, Timestamp};

use super::requests::Request;
use crate::stats::{BEYOND_CHANCE, Fourfold, LIKELY, strata_apart};

/// A callee that is called less often for each request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Skipped {
    pub(super) callee: EntityId,
    /// Calls for each request, before and after trouble began, with the operations as they are now.
    pub(super) usual: f64,
    pub(super) now: f64,
}

/// Requests of one operation, and how many calls to a callee they made.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    requests: usize,
    asking: usize,
    calls: usize,
}

/// The callees that fewer requests ask since trouble began, by more than chance.
pub(super) fn skipped(requests: &[Request<'_>], split: Timestamp) -> Vec<Skipped> {
    let mut all: BTreeMap<u32, [usize; 2]> = BTreeMap::new();
    let mut any: BTreeMap<u32, [Tally; 2]> = BTreeMap::new();
    let mut asking: BTreeMap<&EntityId, BTreeMap<u32, [Tally; 2]>> = BTreeMap::new();
    for request in requests {
        let side = usize::from(request.time >= split);
        all.entry(request.operation).or_default()[side] += 1;
        let asks = &mut any.entry(request.operation).or_default()[side];
        asks.requests += 1;
        asks.asking += usize::from(!request.asked.is_empty());
        for (callee, calls) in &request.asked {
            let of = asking.entry(callee).or_default().entry(request.operation).or_default();
            of[side].asking += 1;
            of[side].calls += calls;
        }
    }
    // Where requests stop before they make a call, all that they asked is left out.
    let stops = strata_apart(any.values().map(fourfold)) <= -BEYOND_CHANCE;
    let enough = if stops { LIKELY } else { BEYOND_CHANCE };
    let skipped = asking.into_iter().filter_map(|(callee, operations)| {
        let strata = all.iter().map(|(operation, requests)| {
            let mut both = operations.get(operation).copied().unwrap_or_default();
            for (tally, count) in both.iter_mut().zip(requests) {
                tally.requests = *count;
            }
            both
        });
        one(callee, &strata.collect::<Vec<[Tally; 2]>>(), enough)
    });
    skipped.collect()
}

fn fourfold([before, after]: &[Tally; 2]) -> Fourfold {
    Fourfold {
        before: (before.asking as f64, before.requests as f64),
        after: (after.asking as f64, after.requests as f64),
    }
}

/// A callee that is left out, if that is significant by as many standard deviations.
fn one(callee: &EntityId, strata: &[[Tally; 2]], enough: f64) -> Option<Skipped> {
    if strata_apart(strata.iter().map(fourfold)) > -enough {
        return None;
    }
    let known = strata.iter().filter(|[before, _]| before.requests > 0);
    let (mut usual, mut now, mut count) = (0.0, 0.0, 0.0);
    for [before, after] in known {
        let requests = after.requests as f64;
        usual += requests * before.calls as f64 / before.requests as f64;
        now += after.calls as f64;
        count += requests;
    }
    (count > 0.0).then(|| Skipped {
        callee: callee.clone(),
        usual: usual / count,
        now: now / count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_time::requests::End;

    /// Requests of two operations, one each second: those of the first call `users` twice, those of the second never.
    fn ratios(first: impl Fn(i64) -> bool, calls: impl Fn(i64) -> bool) -> Vec<(f64, f64)> {
        let users = EntityId::new("users").unwrap();
        let request = |n: i64| Request {
            time: Timestamp::from_second(n).unwrap(),
            operation: u32::from(!first(n)),
            asked: if first(n) && calls(n) {
                BTreeMap::from([(&users, 2)])
            } else {
                BTreeMap::new()
            },
            last: None,
            how: End::Early,
        };
        let requests: Vec<Request<'_>> = (0..50).map(request).collect();
        let found = skipped(&requests, Timestamp::from_second(30).unwrap());
        found.into_iter().map(|one| (one.usual, one.now)).collect()
    }

    #[test]
    fn few_requests_suffice_where_all_asked_before() {
        assert_eq!(ratios(|_| true, |n| n < 30 || n % 4 == 0), [(2.0, 0.5)]);
        assert_eq!(ratios(|_| true, |n| n % 4 != 0), [], "as before");
    }

    #[test]
    fn requests_that_ask_none_any_more_leave_out_all_they_asked() {
        let names = ["users", "orders"].map(|name| EntityId::new(name).unwrap());
        let callees = |stops: bool| {
            let request = |n: i64| {
                // Half ask both, half the first alone, until they ask none.
                let asked = names.iter().take(if n % 2 == 0 { 2 } else { 1 }).map(|name| (name, 1));
                let asked = if stops && n >= 21 { BTreeMap::new() } else { asked.collect() };
                let time = Timestamp::from_second(n).unwrap();
                Request { time, operation: 0, asked, last: None, how: End::Early }
            };
            let requests: Vec<Request<'_>> = (0..34).map(request).collect();
            let found = skipped(&requests, Timestamp::from_second(21).unwrap());
            found.into_iter().map(|one| one.callee.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(callees(true), ["orders", "users"]);
        assert!(callees(false).is_empty());
    }

    #[test]
    fn another_mix_of_operations_is_not_fewer_calls() {
        assert_eq!(ratios(|n| n < 30 || n % 10 == 0, |_| true), []);
    }
}
