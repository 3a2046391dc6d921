//! To which end of a slow way the slowness belongs.
//!
//! What a caller measures of a call beyond what the callee measured of its work is time on the way, or
//! waiting at either end: a caller without processor time sees all its calls late, a callee that is far away or
//! does not get to its work is late for all its callers. So of the two ends it is the one whose *other*
//! ways are slow as well.

use std::collections::{BTreeMap, BTreeSet};

/// Calls from one entity to another, by the places of both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) caller: usize,
    pub(crate) callee: usize,
    /// How much longer each call is under way.
    pub(crate) each: f64,
    pub(crate) calls: f64,
}

/// For each way, the entity that its slowness belongs to; none where it is as usual. `own` is what each entity has too
/// much of by itself: who is in trouble anyway is likelier the cause.
///
/// Step by step that entity is taken that explains most: by one delay for all its calls, those that it makes,
/// those that it serves, or both, it leaves least over (least absolute deviations). What no entity explains so
/// belongs to the callee.
pub(crate) fn belongs_to(ways: &[Way], own: &[f64]) -> Vec<Option<usize>> {
    let mut left: Vec<f64> = ways.iter().map(|way| way.each.max(0.0)).collect();
    let mut owners: Vec<Option<usize>> = vec![None; ways.len()];
    let mut served: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut made: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, way) in ways.iter().enumerate() {
        served.entry(way.callee).or_default().push(place);
        made.entry(way.caller).or_default().push(place);
    }
    while let Some((entity, explained)) = best_end(ways, &left, own, &served, &made) {
        for place in explained {
            if let (Some(rest), Some(owner)) = (left.get_mut(place), owners.get_mut(place))
                && *rest > 0.0
            {
                *rest = 0.0;
                *owner = Some(entity);
            }
        }
    }
    for ((way, rest), owner) in ways.iter().zip(&left).zip(&mut owners) {
        if *rest > 0.0 {
            *owner = Some(way.callee);
        }
    }
    owners
}

/// The entity that explains most of what is left, and its ways.
fn best_end(
    ways: &[Way],
    left: &[f64],
    own: &[f64],
    served: &BTreeMap<usize, Vec<usize>>,
    made: &BTreeMap<usize, Vec<usize>>,
) -> Option<(usize, Vec<usize>)> {
    let slow = ways.iter().zip(left).filter(|(_, left)| **left > 0.0);
    let entities: BTreeSet<usize> = slow.flat_map(|(way, _)| [way.callee, way.caller]).collect();
    let mut best: Option<(f64, bool, usize, Vec<usize>)> = None;
    for entity in entities {
        let [to, from] = [served, made].map(|ways| ways.get(&entity).cloned().unwrap_or_default());
        let both = [to.clone(), from.clone()].concat();
        for (is_callee, places) in [(true, to), (false, from), (false, both)] {
            let explained = gain(ways, left, &places);
            if explained <= 0.0 {
                continue;
            }
            let score = explained + own.get(entity).copied().unwrap_or(0.0).max(0.0);
            // Where nothing distinguishes them, the callee is nearer to the cause.
            let better = best.as_ref().is_none_or(|(known, of_callee, ..)| {
                score > *known || (score == *known && is_callee && !of_callee)
            });
            if better {
                best = Some((score, is_callee, entity, places));
            }
        }
    }
    best.map(|(_, _, entity, places)| (entity, places))
}

/// How much of what ways are too slow by one delay for all of them explains.
fn gain(ways: &[Way], left: &[f64], places: &[usize]) -> f64 {
    let mut values: Vec<(f64, f64)> = places
        .iter()
        .filter_map(|place| Some((*left.get(*place)?, ways.get(*place)?.calls)))
        .collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = values.iter().map(|(_, calls)| calls).sum();
    let mut seen = 0.0;
    let median = values.iter().find(|(_, calls)| {
        seen += calls;
        2.0 * seen >= all
    });
    let Some((delay, _)) = median.copied() else { return 0.0 };
    let without: f64 = values.iter().map(|(each, calls)| calls * each).sum();
    let with: f64 = values.iter().map(|(each, calls)| calls * (each - delay).abs()).sum();
    without - with
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ways as caller, callee, delay and calls; the owners, a dot for none.
    fn owners(ways: &[(usize, usize, f64, f64)], own: &[f64]) -> String {
        let way = |(caller, callee, each, calls): &(usize, usize, f64, f64)| Way {
            caller: *caller,
            callee: *callee,
            each: *each,
            calls: *calls,
        };
        let ways: Vec<Way> = ways.iter().map(way).collect();
        let owners = belongs_to(&ways, own).into_iter();
        owners.map(|owner| owner.map_or(".".to_owned(), |owner| owner.to_string())).collect()
    }

    #[test]
    fn it_belongs_to_the_end_whose_other_ways_are_slow_too() {
        // 0 calls 1, 2 and 3; 4 calls 3.
        let to = |delays: [f64; 4]| {
            let [a, b, c, d] = delays;
            [(0, 1, a, 50.0), (0, 2, b, 30.0), (0, 3, c, 20.0), (4, 3, d, 10.0)]
        };
        assert_eq!(owners(&to([0.0; 4]), &[]), "....");
        assert_eq!(owners(&to([0.0, 0.0, 250.0, 240.0]), &[]), "..33", "all who call 3 wait");
        assert_eq!(owners(&to([90.0, 100.0, 80.0, 0.0]), &[]), "000.", "0 waits for all");
        assert_eq!(owners(&to([0.0, 90.0, 0.0, 0.0]), &[]), ".2..", "of 0's ways this one alone");
    }

    #[test]
    fn trouble_of_its_own_decides_where_ways_do_not() {
        assert_eq!(owners(&[(0, 1, 50.0, 10.0)], &[]), "1");
        assert_eq!(owners(&[(0, 1, 50.0, 10.0)], &[500.0, 0.0]), "0");
        // 0 calls 1, which calls 2: what is slow on both sides of 1 is one delay.
        assert_eq!(owners(&[(0, 1, 350.0, 430.0), (1, 2, 200.0, 590.0)], &[0.0, 9e4, 0.0]), "11");
    }
}
