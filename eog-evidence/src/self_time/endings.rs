//! After whose answer requests end.
//!
//! A wrong answer is often an answer like any other, neither slow nor failed: what shows is that whoever asked
//! goes no further. So of the requests that ask a callee those are counted whose last call that was.

use std::collections::BTreeMap;

use eog_core::{EntityId, Timestamp};

use super::excess::MIN_CALLS;
use super::requests::{End, Request};
use crate::shift::MIN_RELATIVE;
use crate::stats::{BEYOND_CHANCE, shares_apart};

/// Rates count as much higher when they are half higher, here as elsewhere.
const MUCH_MORE: f64 = 1.5;

/// Half is the majority: where requests end after the answers of several, one of them must stand for most.
const MAJORITY: f64 = 0.5;

/// Requests of one entity that ask a callee, and end once that has answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ending {
    pub(crate) callee: EntityId,
    pub(crate) how: End,
    /// The share of the requests that ask the callee, before and after trouble began.
    pub(crate) usual: f64,
    pub(crate) now: f64,
    /// Requests after trouble began that ask the callee.
    pub(crate) requests: usize,
}

/// Requests that ask a callee, and how many of them it ends.
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

/// After whose answer the requests of an entity end more often since trouble began, at most one callee for each way to
/// end.
pub(super) fn endings(requests: &[Request<'_>], split: Timestamp) -> Vec<Ending> {
    let mut tallies: BTreeMap<&EntityId, [Tally; 2]> = BTreeMap::new();
    for request in requests {
        let side = usize::from(request.time >= split);
        for callee in request.asked.keys() {
            let tally = &mut tallies.entry(callee).or_default()[side];
            tally.asked += 1;
            let is_last = request.last == Some(*callee);
            tally.early += usize::from(is_last && request.how == End::Early);
            tally.failed += usize::from(is_last && request.how == End::Failed);
        }
    }
    [End::Early, End::Failed].into_iter().filter_map(|how| most(&tallies, how)).collect()
}

/// The callee after whose answer most requests end that did not before; nothing where it stands for less than half of
/// them.
fn most(tallies: &BTreeMap<&EntityId, [Tally; 2]>, how: End) -> Option<Ending> {
    let mut risen: Vec<(f64, Ending)> = Vec::new();
    for (callee, [before, after]) in tallies {
        let (old, new) = (before.of(how), after.of(how));
        if before.asked < MIN_CALLS || after.asked < MIN_CALLS {
            continue;
        }
        let (usual, now) = (old.0 / old.1, new.0 / new.1);
        let is_much = now >= MUCH_MORE * usual && now - usual >= MIN_RELATIVE;
        if is_much && shares_apart(old, new) >= BEYOND_CHANCE {
            let ending =
                Ending { callee: (*callee).clone(), how, usual, now, requests: after.asked };
            risen.push(((now - usual) * new.1, ending));
        }
    }
    let all: f64 = risen.iter().map(|(more, _)| more).sum();
    let most = risen.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (most.0 > MAJORITY * all).then_some(most.1)
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
    fn told(wrong: i64, places: bool, fails: bool) -> Vec<Ending> {
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
            let found = told(40, places, false);
            let [ending] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((ending.callee.as_str(), ending.how), ("users", End::Early));
            assert_eq!((ending.usual, ending.now, ending.requests), (0.0, 1.0, 20));
            assert_eq!(told(60, places, false), [], "as before");
        }
    }

    #[test]
    fn requests_that_fail_by_themselves_are_told_apart() {
        let found = told(40, true, true);
        assert_eq!(found.iter().map(|it| it.how).collect::<Vec<_>>(), [End::Failed]);
        // Without places nobody knows whether a call failed with them.
        assert_eq!(told(40, false, true), []);
    }
}
