//! After whose answer requests end.
//!
//! A wrong answer is often an answer like any other, neither slow nor failed: what shows is that the caller
//! goes no further. So of the requests that ask a callee those are counted whose last call that was.

use std::collections::BTreeMap;

use eog_core::{EntityId, Timestamp};

use super::excess::{MIN_CALLS, Measured};
use super::requests::{End, Request};
use super::split::became_more;
use crate::shift::MIN_RELATIVE;
use crate::signs::MAJORITY;
use crate::stats::{Fourfold, LIKELY, shares_apart, strata_apart};

/// Rates count as much higher when they are half higher, here as elsewhere.
const MUCH_MORE: f64 = 1.5;

/// Requests of one entity that ask a callee, and end once that has answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ending {
    pub(crate) callee: EntityId,
    pub(crate) how: End,
    /// The share of the requests that ask the callee, before and after trouble began, with the operations as they are now.
    pub(crate) usual: f64,
    pub(crate) now: f64,
    /// Requests after trouble began that ask the callee.
    pub(crate) requests: usize,
    /// How many standard deviations the shares are apart, each operation compared with itself.
    pub(crate) sigmas: f64,
    /// For how many operations requests end there more often.
    pub(crate) operations: usize,
}

/// Requests for one operation that ask a callee, and how many of them it ends.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    asked: usize,
    early: usize,
    failed: usize,
}

impl Tally {
    fn of(&self, how: End) -> (f64, f64) {
        let ended = if how == End::Early { self.early } else { self.failed };
        (ended as f64, self.asked as f64)
    }
}

/// Tallies before and after trouble began, by operation.
type Operations = BTreeMap<u32, [Tally; 2]>;

/// After whose answer the requests of an entity end more often since trouble began, at most one callee for each way to
/// end. Further evidence may be needed to distinguish it from chance.
pub(super) fn endings(requests: &[Request<'_>], split: Timestamp) -> Vec<Ending> {
    let mut tallies: BTreeMap<&EntityId, Operations> = BTreeMap::new();
    // An entity that fails before it makes a call does so by itself.
    let mut unasked = [Tally::default(); 2];
    for request in requests {
        let side = usize::from(request.time >= split);
        unasked[side].asked += 1;
        unasked[side].failed += usize::from(request.last.is_none() && request.how == End::Failed);
        for callee in request.asked.keys() {
            let operations = tallies.entry(callee).or_default();
            let tally = &mut operations.entry(request.operation).or_default()[side];
            tally.asked += 1;
            let is_last = request.last == Some(*callee);
            tally.early += usize::from(is_last && request.how == End::Early);
            tally.failed += usize::from(is_last && request.how == End::Failed);
        }
    }
    let [before, after] = unasked.map(|tally| tally.of(End::Failed));
    let by_itself = after.0 - before.0 * after.1 / before.1.max(1.0);
    let early = most(&tallies, End::Early, 0.0);
    early.into_iter().chain(most(&tallies, End::Failed, by_itself.max(0.0))).collect()
}

/// When requests began to end after the answers of a callee, or before they make a call, where nothing that is slow or
/// fails shows when trouble began.
pub(super) fn began<'a>(
    requests: impl Iterator<Item = (&'a EntityId, Request<'a>)>,
    alert: Timestamp,
) -> Option<Timestamp> {
    let yes_or_no = |it: bool| if it { 1.0 } else { 0.0 };
    let mut lists: BTreeMap<(bool, &EntityId), Vec<Measured>> = BTreeMap::new();
    for (entity, request) in requests {
        let asks_none = yes_or_no(request.asked.is_empty());
        lists.entry((false, entity)).or_default().push((request.time, asks_none));
        for callee in request.asked.keys() {
            let ends = yes_or_no(request.last == Some(*callee));
            lists.entry((true, callee)).or_default().push((request.time, ends));
        }
    }
    lists.values_mut().for_each(|list| list.sort_by_key(|(at, _)| *at));
    became_more(lists.values().map(Vec::as_slice), alert)
}

/// The callee after whose answer most requests end that did not before; nothing where it stands for less than half of
/// them, and of `others` that end without any.
fn most(tallies: &BTreeMap<&EntityId, Operations>, how: End, others: f64) -> Option<Ending> {
    let risen = tallies.iter().filter_map(|(callee, operations)| {
        let ending = ending(callee, operations, how)?;
        Some(((ending.now - ending.usual) * ending.requests as f64, ending))
    });
    let risen: Vec<(f64, Ending)> = risen.collect();
    let all = others + risen.iter().map(|(more, _)| more).sum::<f64>();
    let most = risen.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (most.0 > MAJORITY * all).then_some(most.1)
}

/// Requests that end after the answers of a callee, if they do so more often than before.
fn ending(callee: &EntityId, operations: &Operations, how: End) -> Option<Ending> {
    let known = operations.values().filter(|[before, after]| before.asked > 0 && after.asked > 0);
    let known: Vec<[(f64, f64); 2]> = known.map(|both| both.map(|tally| tally.of(how))).collect();
    let asked = |side: usize| known.iter().map(|both| both[side].1).sum::<f64>();
    let (before, after) = (asked(0), asked(1));
    if before + after < MIN_CALLS as f64 || before.min(after) < 1.0 {
        return None;
    }
    let share = |(ended, asked): (f64, f64)| ended / asked;
    let expected = known.iter().map(|[old, new]| new.1 * share(*old)).sum::<f64>();
    let (usual, now) = (expected / after, known.iter().map(|[_, new]| new.0).sum::<f64>() / after);
    let fourfold = |[before, after]: &[(f64, f64); 2]| Fourfold { before: *before, after: *after };
    let sigmas = strata_apart(known.iter().map(fourfold));
    let is_more = |usual: f64, now: f64| now >= MUCH_MORE * usual && now - usual >= MIN_RELATIVE;
    let ends_more = |both: &&[(f64, f64); 2]| {
        let [old, new] = **both;
        is_more(share(old), share(new)) && shares_apart(old, new) >= LIKELY
    };
    let is_ending = is_more(usual, now) && sigmas >= LIKELY;
    is_ending.then(|| Ending {
        callee: callee.clone(),
        how,
        usual,
        now,
        requests: after as usize,
        sigmas,
        operations: known.iter().filter(ends_more).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_time::requests::requests;
    use crate::self_time::{Calls, TracedSpan};

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(ms).unwrap()
    }

    /// Requests of `web`, one each second, that ask `users` and then `orders`; from request `wrong` on they end after
    /// the first answer.
    fn found_endings(wrong: i64, places: bool, fails: bool) -> Vec<Ending> {
        let [web, users, orders] = ["web", "users", "orders"].map(|n| EntityId::new(n).unwrap());
        let mut spans = Vec::new();
        for n in 0..60 {
            let ends = n >= wrong;
            let place = |span: u64, parent| {
                let number = 10 * n as u64 + span;
                let parent = if parent { Some(10 * n as u64) } else { None };
                places.then_some(crate::self_time::SpanPlace { span: number, parent })
            };
            let span = |from: i64, duration_ms: f64, callee, failed, place| TracedSpan {
                time: at(1_000 * n + from),
                entity: &web,
                duration_ms,
                failed: Some(failed),
                callee,
                operation: "",
                place,
            };
            let length = if ends { 20.0 } else { 50.0 };
            spans.push(span(0, length, None, ends && fails, place(0, false)));
            spans.push(span(5, 10.0, Some(&users), false, place(1, true)));
            if !ends {
                spans.push(span(25, 10.0, Some(&orders), false, place(2, true)));
            }
        }
        endings(&requests(&Calls::of_traced(&spans), &web, at(60_000)), at(40_000))
    }

    #[test]
    fn requests_end_after_an_answer_by_places_or_by_times() {
        for places in [true, false] {
            let found = found_endings(40, places, false);
            let [ending] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((ending.callee.as_str(), ending.how), ("users", End::Early));
            assert_eq!((ending.usual, ending.now, ending.requests), (0.0, 1.0, 20));
            assert_eq!(found_endings(60, places, false), [], "as before");
        }
    }

    #[test]
    fn requests_that_fail_by_themselves_are_separated() {
        let found = found_endings(40, true, true);
        assert_eq!(found.iter().map(|it| it.how).collect::<Vec<_>>(), [End::Failed]);
        // Without places it is unknown whether a call failed with them.
        assert_eq!(found_endings(40, false, true), []);
    }

    /// A request of `web` for an operation, that asks `users` and, where it goes on, `orders`.
    fn request<'a>(
        n: i64,
        operation: u32,
        [users, orders]: [&'a EntityId; 2],
        ends: Option<End>,
    ) -> Request<'a> {
        let mut asked = BTreeMap::from([(users, 1)]);
        let (last, how) = match ends {
            Some(how) => (users, how),
            None => {
                asked.insert(orders, 1);
                (orders, End::Early)
            }
        };
        Request { time: at(1_000 * n), operation, asked, last: Some(last), how }
    }

    #[test]
    fn each_operation_is_compared_with_itself() {
        let [users, orders] = ["users", "orders"].map(|n| EntityId::new(n).unwrap());
        let all = [&users, &orders];
        // Requests for the second operation always end there, and there are more of them than before.
        let mix = (0..80).map(|n| {
            let second = n % 8 == 0 || n >= 40 && n % 2 == 0;
            request(n, u32::from(second), all, second.then_some(End::Early))
        });
        assert_eq!(endings(&mix.collect::<Vec<_>>(), at(40_000)), []);
        let two = (0..80).map(|n| request(n, (n % 2) as u32, all, (n >= 40).then_some(End::Early)));
        let found = endings(&two.collect::<Vec<_>>(), at(40_000));
        let [ending] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((ending.operations, ending.now), (2, 1.0));
        assert!(ending.sigmas > 8.0, "{ending:?}");
    }

    #[test]
    fn who_fails_before_it_makes_a_call_fails_by_itself() {
        let [users, orders] = ["users", "orders"].map(|n| EntityId::new(n).unwrap());
        let count = |unasked: bool| {
            let requests = (0..90).map(|n| match n >= 40 && n % 3 > 0 {
                false => request(n, 0, [&users, &orders], None),
                true if unasked && n % 3 == 1 => Request {
                    last: None,
                    asked: BTreeMap::new(),
                    how: End::Failed,
                    ..request(n, 0, [&users, &orders], None)
                },
                true => request(n, 0, [&users, &orders], Some(End::Failed)),
            });
            endings(&requests.collect::<Vec<_>>(), at(40_000)).len()
        };
        assert_eq!((count(false), count(true)), (1, 0));
    }

    #[test]
    fn that_requests_end_tells_when_trouble_began() {
        let [web, users, orders] = ["web", "users", "orders"].map(|n| EntityId::new(n).unwrap());
        let when = |begins: i64| {
            let requests = (0..60).map(|n| {
                (&web, request(n, 0, [&users, &orders], (n >= begins).then_some(End::Early)))
            });
            began(requests, at(55_000))
        };
        assert_eq!(when(45), Some(at(45_000)));
        assert_eq!(when(60), None);
    }
}
