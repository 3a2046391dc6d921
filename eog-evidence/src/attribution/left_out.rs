//! Callees that are called less often for each request: the entity that should call them stops before it gets there.

use eog_core::evidence::{PeerRole, Signal};
use eog_core::{EntityId, Finding, Timestamp};

use super::burden::longest;
use super::trouble::Spot;
use super::{Attribution, Kind, notes};
use crate::paths::Travel;
use crate::series::{MIN_BASELINE, Series};
use crate::shift::{MIN_RUN, during};
use crate::stats::mean;

/// Calls count as fewer when they are at least a third fewer for each request: rates that are half more count as more
/// elsewhere.
const FEWER: f64 = 1.0 / 1.5;

/// Fewer calls are no chance when that has a probability below this, at each of two times that are tried. With 3
/// points after and 22 before it is reached when all three lie below all of these.
const CHANCE: f64 = 0.5e-3;

/// A run of values as long and as low may have been there before in at most this share of places: traffic that
/// comes and goes has many such runs, though each value by itself is rare.
const RUNS: f64 = 0.005;

/// Calls that are no longer made at all compare like those of which one in a hundred is left.
const NEVER: f64 = 0.01;

/// How often a callee is called for each request, before and after trouble began.
struct Fewer {
    callee: EntityId,
    usual: f64,
    now: f64,
    time: (Timestamp, Timestamp),
}

impl Attribution<'_> {
    /// A note on each callee that is called less often for each request that the entity serves.
    pub(super) fn left_out(&self, entity: &EntityId) -> Vec<Finding> {
        let note = |one: &Fewer| {
            let time = during(one.time.0, one.time.1);
            notes::of_left_out(entity, &one.callee, [one.usual, one.now], time)
        };
        self.fewer_calls(entity).iter().map(note).collect()
    }

    /// Where to check first: an entity that leaves calls out, though none that it makes is slow or fails.
    pub(super) fn spot_of_left_out(&self, entity: &EntityId) -> Option<Spot> {
        if [Kind::Time, Kind::Failures].iter().any(|kind| self.waits_for_calls(entity, *kind)) {
            return None;
        }
        let fewer = self.fewer_calls(entity);
        let one = fewer.first()?;
        Some(Spot {
            times: one.usual / one.now.max(NEVER * one.usual),
            signal: Signal::Output,
            is_sure: true,
            longer: None,
            text: notes::left_out_excerpt(entity, &one.callee, [one.usual, one.now]),
        })
    }

    fn fewer_calls(&self, entity: &EntityId) -> Vec<Fewer> {
        let traced = self.traced_books(Kind::Time);
        let book = traced.as_ref().and_then(|books| books.get(entity));
        let book = book.filter(|_| !self.loses_calls(entity));
        let fewer = match book {
            Some(book) => {
                let fewer = book.fewer.iter().map(|(callee, usual, now)| Fewer {
                    callee: callee.clone(),
                    usual: *usual,
                    now: *now,
                    time: book.time,
                });
                fewer.collect()
            }
            None => self.by_traffic(entity),
        };
        let mut fewer: Vec<Fewer> =
            fewer.into_iter().filter(|one| one.now <= FEWER * one.usual).collect();
        fewer.sort_by(|a, b| {
            (a.now / a.usual).total_cmp(&(b.now / b.usual)).then_with(|| a.callee.cmp(&b.callee))
        });
        fewer.truncate(super::MAX_NAMED);
        fewer
    }

    /// By measured traffic: that between the two, else all of a callee that no other entity calls.
    fn by_traffic(&self, entity: &EntityId) -> Vec<Fewer> {
        let begun = self.asked.kinds.iter().flat_map(|kind| self.begun(*kind));
        let Some((begun, number)) = begun.min().zip(self.ways.number(entity)) else {
            return Vec::new();
        };
        // An alert may come a step late.
        let (at, step) = begun;
        let since = [at, at.checked_sub(step).unwrap_or(at)];
        let Some(measured) = (self.measured)(entity) else { return Vec::new() };
        let is_traffic = |series: &&&Series| series.signal == Signal::Traffic;
        let own = measured.series.iter().filter(is_traffic);
        let own = longest(own.copied().filter(|series| series.peer.is_none()));
        let Some(own) = own else { return Vec::new() };
        let lanes = self.ways.lanes(Travel::Demand);
        let fewer = lanes.onward.of(number).filter_map(|at| {
            let callee = self.ways.name(at)?;
            let theirs = (self.measured)(callee);
            let about = |series: &Series, peer: &EntityId, role| {
                series.peer.as_ref().is_some_and(|one| one.entity == *peer && one.role == role)
            };
            let sent = measured.series.iter().filter(is_traffic).copied();
            let sent = sent.filter(|series| about(series, callee, PeerRole::Callee));
            let taken = theirs.iter().flat_map(|theirs| &theirs.series).filter(is_traffic).copied();
            let alone = lanes.back.of(at).count() == 1;
            let calls = longest(sent)
                .or_else(|| {
                    longest(taken.clone().filter(|one| about(one, entity, PeerRole::Caller)))
                })
                .or_else(|| longest(taken.filter(|one| alone && one.peer.is_none())))?;
            let fewer = since.map(|since| self.calls_for_each_request(own, calls, since));
            let (usual, now, time) = fewer.into_iter().flatten().next()?;
            Some(Fewer { callee: callee.clone(), usual, now, time })
        });
        fewer.collect()
    }

    /// How often a call is made for each request, before and after, when it is less often by more than chance.
    fn calls_for_each_request(
        &self,
        requests: &Series,
        calls: &Series,
        since: Timestamp,
    ) -> Option<(f64, f64, (Timestamp, Timestamp))> {
        let until = |series: &Series, at: Timestamp| {
            let place = series.points.partition_point(|(other, _)| *other <= at);
            place.checked_sub(1).and_then(|place| series.points.get(place)).map(|(_, value)| *value)
        };
        let window = self.periods.window;
        let ratios = calls.points.iter().filter_map(|(at, calls)| {
            let requests = until(requests, *at).filter(|requests| *requests > 0.0)?;
            (*at < window.end()).then_some((*at, calls / requests))
        });
        let (before, after): (Vec<_>, Vec<_>) = ratios.partition(|(at, _)| *at < since);
        let (first, last) = (after.first()?.0, after.last()?.0);
        let values = |part: &[(Timestamp, f64)]| part.iter().map(|(_, ratio)| *ratio).collect();
        let (before, after): (Vec<f64>, Vec<f64>) = (values(&before), values(&after));
        let is_enough = before.len() >= MIN_BASELINE && after.len() >= MIN_RUN;
        let is_rare =
            chance_of_less(&before, &after) < CHANCE && runs_as_low(&before, &after) <= RUNS;
        (is_enough && is_rare).then(|| (mean(&before), mean(&after), (first, last)))
    }
}

/// The probability that so many values drawn later all lie as low by chance: with `k` of `n` earlier values as low as
/// the highest of `m` later ones, those are all among the `k + m` lowest of `n + m`.
fn chance_of_less(before: &[f64], after: &[f64]) -> f64 {
    let highest = after.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = before.iter().filter(|value| **value <= highest).count();
    let (all, later) = (before.len() + after.len(), after.len());
    let places = (0..later).map(|n| {
        let (among, of) = ((low + later).saturating_sub(n), all.saturating_sub(n));
        among as f64 / of.max(1) as f64
    });
    places.product()
}

/// In which share of places the earlier values have a run of as many as came later, none above their highest.
fn runs_as_low(before: &[f64], after: &[f64]) -> f64 {
    let highest = after.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let runs = before.windows(after.len().max(1));
    let places = runs.len();
    let low = runs.filter(|run| run.iter().all(|value| *value <= highest)).count();
    low as f64 / places.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_is_judged_by_the_places_of_values() {
        let usual: Vec<f64> = (0..22).map(f64::from).collect();
        assert!(chance_of_less(&usual, &[-1.0, -2.0, -1.0]) < CHANCE);
        assert!(chance_of_less(&usual, &[-1.0, -2.0]) > CHANCE, "two points are too few");
        assert!(chance_of_less(&usual, &[-1.0, 2.0, -1.0]) > CHANCE);
        assert!(chance_of_less(&[0.0; 20], &[0.0; 3]) > 0.99, "never called");
    }

    #[test]
    fn a_run_that_was_there_before_is_usual() {
        // Every hundredth value is low by itself, and no run of three is.
        let lone: Vec<f64> = (0..400).map(|n| if n % 100 == 0 { 0.0 } else { 1.0 }).collect();
        assert!(runs_as_low(&lone, &[0.0; 3]) <= RUNS);
        // As many low values, together.
        let ebb: Vec<f64> = (0..400).map(|n| if n < 8 { 0.0 } else { 1.0 }).collect();
        assert!(chance_of_less(&ebb, &[0.0; 3]) < CHANCE, "each value is rare");
        assert!(runs_as_low(&ebb, &[0.0; 3]) > RUNS);
    }
}
