//! How trouble spreads from the origins to callers, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::random::Stream;

/// Trouble of one entity. Times are seconds from the start of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    /// When it began to fail.
    pub(super) since: u64,
    /// When it was changed, for an origin.
    pub(super) changed: Option<u64>,
    /// Which callees struck it, and when, in the order of time.
    pub(super) struck_by: Vec<(usize, u64)>,
}

/// The first second in which an origin may be changed.
const FIRST_CHANGE: u64 = 300;
/// Over how many seconds the changes of all origins are spread.
const CHANGES_WITHIN: u64 = 300;
/// Within how many seconds a change leads to errors, and errors reach a caller.
const DELAY: u64 = 10;

/// Spreads the trouble of the origins, each edge being asked at most once.
pub(super) fn spread(
    callers: &[Vec<usize>],
    origins: &[usize],
    propagation: f64,
    draw: &mut Stream,
) -> Vec<Option<Trouble>> {
    let mut changes = vec![None; callers.len()];
    let mut strikes = BinaryHeap::new();
    for origin in origins {
        let changed = FIRST_CHANGE + draw.below(CHANGES_WITHIN);
        changes[*origin] = Some(changed);
        strikes.push(Reverse((changed + draw.between(1, DELAY), *origin, None)));
    }
    let mut troubles: Vec<Option<Trouble>> = vec![None; callers.len()];
    while let Some(Reverse((at, entity, by))) = strikes.pop() {
        match (&mut troubles[entity], by) {
            // An origin that has not failed yet fails for its own reason only.
            (None, Some(_)) if changes[entity].is_some() => continue,
            (Some(trouble), Some(by)) => {
                if trouble.changed.is_none() || trouble.since < at {
                    trouble.struck_by.push((by, at));
                }
                continue;
            }
            (trouble, by) => {
                let struck_by = by.map(|by| (by, at)).into_iter().collect();
                *trouble = Some(Trouble { since: at, changed: changes[entity], struck_by });
            }
        }
        for caller in &callers[entity] {
            if draw.chance(propagation) {
                strikes.push(Reverse((at + draw.between(1, DELAY), *caller, Some(entity))));
            }
        }
    }
    troubles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RandomSeed;

    fn spread_on(callers: &[Vec<usize>], origins: &[usize], share: f64) -> Vec<Option<Trouble>> {
        spread(callers, origins, share, &mut RandomSeed::from(3).stream("spread"))
    }

    #[test]
    fn a_chain_fails_from_its_origin_upwards() {
        let callers = [vec![], vec![0], vec![1], vec![2]];
        let troubles = spread_on(&callers, &[2], 1.0);
        let origin = troubles[2].as_ref().expect("is the origin");
        assert!(origin.changed.is_some_and(|changed| changed < origin.since));
        assert_eq!(origin.struck_by, []);
        let [top, middle] = [0, 1].map(|e| troubles[e].as_ref().expect("is affected"));
        assert_eq!(middle.struck_by, [(2, middle.since)]);
        assert!(origin.since < middle.since && middle.since < top.since);
        assert_eq!(troubles[3], None);
        assert_eq!(spread_on(&callers, &[2], 0.0).iter().flatten().count(), 1);
    }

    #[test]
    fn an_origin_is_struck_only_after_it_failed() {
        // Two origins that call each other: one fails first, and only that one may see an echo.
        let mut echoes = 0;
        for seed in 0..5_000 {
            let draw = &mut RandomSeed::from(seed).stream("spread");
            let troubles = spread(&[vec![1], vec![0]], &[0, 1], 1.0, draw);
            let since = |entity: usize| troubles[entity].as_ref().map(|trouble| trouble.since);
            for (entity, trouble) in troubles.iter().flatten().enumerate() {
                assert!(trouble.changed.is_some_and(|changed| changed < trouble.since));
                for (by, at) in &trouble.struck_by {
                    assert!(Some(*at) > since(entity) && Some(*at) > since(*by), "seed {seed}");
                    echoes += 1;
                }
            }
        }
        assert!(echoes > 4_000, "{echoes}");
    }
}
