//! How long calls are on the way between those who make them and those who serve them.

use std::collections::BTreeMap;

use eog_core::Timestamp;

use super::ends::Way;
use super::excess::{Measured, mean_of};
use crate::shift::MIN_RELATIVE;
use crate::stats::{BEYOND_CHANCE, LIKELY, ranks_apart};

/// Calls from one entity to another that serves them, by the places of both.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Road {
    /// The number of the way that the calls were recorded on: of a service with replicas there is one way, and a road to
    /// each replica.
    pub(super) way: usize,
    pub(super) caller: usize,
    pub(super) callee: usize,
    /// How long calls were on the way or, where that is not known one by one, how long they took.
    pub(super) calls: Vec<Measured>,
    /// How much longer each is on the way since trouble began; nothing where that may be chance.
    pub(super) each: f64,
    /// Calls since trouble began.
    pub(super) count: usize,
    /// How many standard deviations later times on the way are apart from earlier ones.
    pub(super) sigmas: f64,
    /// The entity that it belongs to.
    pub(super) owner: Option<usize>,
}

impl Road {
    /// Calls with their times on the way; `usual` is what such a call usually takes in all. What each request asks for does not
    /// matter on the way, so single calls are compared, by their ranks.
    pub(super) fn timed(
        (way, caller, callee): (usize, usize, usize),
        calls: Vec<Measured>,
        split: Timestamp,
        usual: f64,
    ) -> Self {
        let (before, after) = calls.split_at(calls.partition_point(|(at, _)| *at < split));
        let values = |part: &[Measured]| part.iter().map(|(_, ms)| *ms).collect::<Vec<f64>>();
        let sigmas = ranks_apart(&values(before), &values(after));
        let longer = mean_of(after) - mean_of(before);
        let is_much = sigmas >= LIKELY && longer > MIN_RELATIVE * usual;
        let (each, count) = (if is_much { longer } else { 0.0 }, after.len());
        Self { way, caller, callee, calls, each, count, sigmas, owner: None }
    }

    pub(super) fn way(&self) -> Way {
        let Self { caller, callee, each, count, .. } = *self;
        Way { caller, callee, each, calls: count as f64 }
    }
}

/// Leaves out what may be chance: an entity has what is too slow on roads that together are conclusive.
pub(super) fn without_chance(roads: &mut [Road]) {
    let mut of: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for road in roads.iter() {
        if let Some(owner) = road.owner {
            let (sum, count) = of.entry(owner).or_default();
            (*sum, *count) = (*sum + road.sigmas, *count + 1.0);
        }
    }
    for road in roads {
        let sure = |owner: &usize| {
            of.get(owner).is_some_and(|(sum, count)| *sum >= BEYOND_CHANCE * count.sqrt())
        };
        if !road.owner.is_some_and(|owner| sure(&owner)) {
            (road.each, road.owner) = (0.0, None);
        }
    }
}

/// How much longer a call on some roads is under way, of what belongs to an entity.
pub(super) fn per_call<'a>(roads: impl Iterator<Item = &'a Road>, entity: usize) -> f64 {
    let (lost, count) = roads.fold((0.0, 0.0), |(lost, all), road| {
        let calls = road.count as f64;
        let mine = if road.owner == Some(entity) { road.each * calls } else { 0.0 };
        (lost + mine, all + calls)
    });
    if count > 0.0 { lost / count } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One call a second, with given times on the way; trouble begins after so many.
    fn road(begins: usize, ms: impl Fn(usize) -> f64, count: usize) -> Road {
        let at = |n: usize| Timestamp::from_second(n as i64).unwrap();
        let calls = (0..count).map(|n| (at(n), ms(n))).collect();
        Road::timed((0, 0, 1), calls, at(begins), 100.0)
    }

    #[test]
    fn few_calls_show_that_they_are_longer_on_the_way() {
        let wobble = |n: usize| (n % 5) as f64 * 0.1;
        let longer = road(12, |n| wobble(n) + if n < 12 { 1.0 } else { 31.0 }, 20);
        assert!((longer.each - 30.0).abs() < 0.1 && longer.count == 8, "{longer:?}");
        assert!(longer.sigmas > LIKELY, "{longer:?}");
        let little = road(12, |n| wobble(n) + if n < 12 { 1.0 } else { 6.0 }, 20);
        assert_eq!(little.each, 0.0, "less than a tenth of what the call takes");
        assert_eq!(road(12, |n| 20.0 * wobble(n), 20).each, 0.0, "as before");
        assert_eq!(road(3, |n| if n < 3 { 1.0 } else { 31.0 }, 6).each, 0.0, "three and three");
    }

    #[test]
    fn roads_of_one_owner_show_together_what_each_alone_does_not() {
        let alone = || {
            let one = road(6, |n| (n % 2) as f64 * 0.1 + if n < 6 { 1.0 } else { 31.0 }, 12);
            Road { owner: Some(1), ..one }
        };
        assert!(alone().sigmas < BEYOND_CHANCE, "{:?}", alone().sigmas);
        let excess = |count: usize| {
            let mut roads: Vec<Road> = (0..count).map(|_| alone()).collect();
            without_chance(&mut roads);
            per_call(roads.iter(), 1)
        };
        assert_eq!(excess(1), 0.0);
        assert!((excess(3) - 30.0).abs() < 0.1);
        assert_eq!(per_call([&alone()].into_iter(), 0), 0.0, "of another");
    }
}
