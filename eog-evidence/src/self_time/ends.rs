//! To which end of a slow way the slowness belongs.
//!
//! What a caller measures of a call beyond what the callee measured of its work is time on the way, or
//! waiting at either end: a caller without processor time sees all its calls late, a callee that is far away or
//! does not get to its work is late for all its callers. So of the two ends it is the one whose *other*
//! ways are slow as well.

use std::collections::BTreeSet;

/// Calls from one entity to another, by the places of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) caller: usize,
    pub(super) callee: usize,
    /// How much longer each call is under way.
    pub(super) each: f64,
    pub(super) calls: f64,
}

/// For each way, the entity that its slowness belongs to; none where it is as usual. `own` is what each entity has too
/// much of by itself: who is in trouble anyway is likelier the cause.
///
/// Step by step that entity is taken that explains most: by one delay for all its calls, those that it makes,
/// those that it serves, or both, it leaves least over (least absolute deviations). What nobody explains so
/// belongs to the callee.
pub(super) fn belongs_to(ways: &[Way], own: &[f64]) -> Vec<Option<usize>> {
    let mut left: Vec<f64> = ways.iter().map(|way| way.each.max(0.0)).collect();
    let mut owners: Vec<Option<usize>> = vec![None; ways.len()];
    loop {
        let slow = |place: &usize| left.get(*place).is_some_and(|left| *left > 0.0);
        let places: Vec<usize> = (0..ways.len()).filter(slow).collect();
        let ends = |place: &usize| ways.get(*place).map(|way| [way.callee, way.caller]);
        let entities: BTreeSet<usize> = places.iter().filter_map(ends).flatten().collect();
        let mut best: Option<(f64, bool, usize, Vec<usize>)> = None;
        for entity in entities {
            for (of_callers, sides) in
                [(true, [true, false]), (false, [false, true]), (false, [true; 2])]
            {
                let [serves, makes] = sides;
                let mine =
                    |way: &Way| serves && way.callee == entity || makes && way.caller == entity;
                let all: Vec<usize> =
                    (0..ways.len()).filter(|place| ways.get(*place).is_some_and(mine)).collect();
                let explained = gain(ways, &left, &all);
                if explained <= 0.0 {
                    continue;
                }
                let score = explained + own.get(entity).copied().unwrap_or(0.0).max(0.0);
                let better = best.as_ref().is_none_or(|(known, known_callee, ..)| {
                    score > *known || (score == *known && of_callers && !known_callee)
                });
                if better {
                    best = Some((score, of_callers, entity, all));
                }
            }
        }
        let Some((_, _, entity, explained)) = best else { break };
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
