//! Calls that were measured and not traced: books over spans do not contain those.

use eog_core::EntityId;
use eog_core::evidence::Signal;

use super::burden::longest;
use super::{Attribution, Kind};
use crate::paths::Travel;
use crate::self_time::Calls;

/// Spans count as lost when at least a third of those are missing that were to be expected: rates that are half more
/// count as more elsewhere.
const FEWER: f64 = 1.0 / 1.5;

/// A lack counts beyond so many standard deviations of what is expected, as elsewhere; the number of independent
/// events varies by its square root (Poisson).
const SIGMAS: f64 = 4.0;

/// Spans and requests of one entity at the times at which its callers' requests were traced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    spans: f64,
    requests: f64,
}

/// Where in the interval that it is about a count stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stamp {
    AtItsStart,
    AtItsEnd,
}

impl Attribution<'_> {
    /// Whether far fewer of an entity's requests are traced since trouble began than it measures: those that wait for
    /// good, or whose callers gave up, may leave no span.
    pub(super) fn loses_spans(&self, entity: &EntityId) -> bool {
        let Some(calls) = self.calls.filter(|calls| calls.serves(entity)) else { return false };
        let find = |kept: &super::Kept| kept.loses_spans.get(entity).copied();
        let work_out = || {
            // A count may be stamped with the begin or the end of its interval.
            let stamps = [Stamp::AtItsEnd, Stamp::AtItsStart];
            let counts = stamps.map(|stamp| self.counts(entity, calls, stamp));
            counts
                .iter()
                .all(|counts| counts.is_some_and(|[before, after]| is_lacking(before, after)))
        };
        self.books.or_else(&self.periods, find, work_out, |kept, loses| {
            kept.loses_spans.insert(entity.clone(), loses);
        })
    }

    /// Whether the traces of what an entity asks of others have such gaps.
    pub(super) fn loses_calls(&self, entity: &EntityId) -> bool {
        self.callees(entity).any(|callee| self.loses_spans(callee))
    }

    /// What was traced and what was measured, before and after trouble began.
    fn counts(&self, entity: &EntityId, calls: &Calls, stamp: Stamp) -> Option<[Counts; 2]> {
        let measured = (self.measured)(entity)?;
        let own = measured.series.iter().copied();
        let own = own.filter(|series| series.signal == Signal::Traffic && series.peer.is_none());
        let requests = longest(own)?;
        let begun = [Kind::Time, Kind::Failures].into_iter().flat_map(|kind| self.begun(kind));
        let begun = begun.map(|(at, step)| at.checked_sub(step).unwrap_or(at)).min()?;
        let number = self.ways.number(entity)?;
        let callers = self.ways.lanes(Travel::Demand).back.of(number);
        let callers: Vec<&EntityId> = callers.filter_map(|one| self.ways.name(one)).collect();
        let are_traced =
            |from, to| callers.iter().any(|caller| calls.count_served(caller, from, to) > 0);
        let mut counts = [Counts::default(); 2];
        let [before, after] = &mut counts;
        let next = requests.points.iter().skip(1);
        let intervals = requests.points.iter().zip(next);
        for ((from, at_start), (to, at_end)) in intervals {
            if *to >= self.periods.window.end() || !are_traced(*from, *to) {
                continue;
            }
            let side = if *to < begun { &mut *before } else { &mut *after };
            side.requests += if stamp == Stamp::AtItsStart { at_start } else { at_end };
            side.spans += calls.count_served(entity, *from, *to) as f64;
        }
        Some(counts)
    }
}

/// Whether fewer spans were recorded than the requests let expect.
fn is_lacking(before: Counts, after: Counts) -> bool {
    if before.requests <= 0.0 {
        return false;
    }
    let expected = before.spans / before.requests * after.requests;
    after.spans <= FEWER * expected && expected - after.spans > SIGMAS * expected.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_lost_when_they_fall_and_requests_do_not() {
        let counts = |spans, requests| Counts { spans, requests };
        assert!(is_lacking(counts(540.0, 3_000.0), counts(17.0, 4_000.0)));
        assert!(!is_lacking(counts(540.0, 3_000.0), counts(17.0, 100.0)), "fewer requests");
        assert!(!is_lacking(counts(540.0, 3_000.0), counts(500.0, 4_000.0)), "a few fewer");
        assert!(!is_lacking(counts(5.0, 3_000.0), counts(0.0, 4_000.0)), "too few to decide");
        assert!(!is_lacking(counts(5.0, 0.0), counts(0.0, 4_000.0)));
    }
}
