//! What usually follows a line, and no longer does.
//!
//! Learnt from the usual time alone, where it is regular: after "payment begun" the next line is
//! "payment done". Such rules are mined from sequences of log lines to model programs (Beschastnikh et al.,
//! *Leveraging existing instrumentation to automatically infer invariant-constrained models*, 2011). Lines of
//! requests that run at the same time mix, so that only lines count that are alone: none of their own kind
//! comes before the follow-up is due.

use std::collections::BTreeMap;

use eog_core::Timestamp;
use eog_core::incident::Onset;
use jiff::SignedDuration;

use crate::intervals::Intervals;
use crate::line_rates::{ComparedTimes, discovery_limit, two_sided};
use crate::onsets::share_onset;

/// A follow-up is learnt from so many lines at least …
const LINES: usize = 30;

/// … of which this share have it next: with 30 of 30 the share is at least 0.9 (95 %).
const REGULAR: f64 = 0.95;

/// A follow-up that fails in a smaller share of cases is not worth reporting.
const LEAST: f64 = 0.1;

/// Lines of kinds that come more often overlap; they are left out, which bounds the work.
const MOST: usize = 5_000;

/// A line that is not followed by what usually follows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reordered {
    /// The place of its kind.
    pub line: usize,
    /// The place of the kind that usually follows.
    pub usual_next: usize,
    /// How many of how many lines are followed in the time of interest.
    pub now: (usize, usize),
    /// How many of how many were in the usual time.
    pub before: (usize, usize),
    /// How many of those that are not come after it instead.
    pub swapped: usize,
    /// How often chance would give so great a difference.
    pub chance: f64,
    /// When it began.
    pub onset: Option<Onset>,
}

/// The kinds of lines, given by their times in order, that are no longer followed by what usually follows
/// them, by more than chance: the surest first.
///
/// ```
/// use eog_core::{Timestamp, Window};
/// use eog_evidence::{ComparedTimes, reordered};
/// let second = |s: i64| Timestamp::from_second(s).unwrap();
/// let compared = ComparedTimes {
///     before: Window::new(second(0), second(1800))?.into(),
///     after: Window::new(second(1800), second(3600))?,
///     until: second(3600),
///     holes: &[],
/// };
/// let begun: Vec<_> = (0..120).map(|n| second(30 * n)).collect();
/// let done: Vec<_> = (0..120).map(|n| second(30 * n + if n < 60 { 2 } else { 20 })).collect();
/// let found = reordered(&[&begun, &done], &compared);
/// assert_eq!((found[0].line, found[0].usual_next), (0, 1));
/// assert_eq!(found[0].now, (0, 60));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn reordered(kinds: &[&[Timestamp]], compared: &ComparedTimes<'_>) -> Vec<Reordered> {
    let usual = usual_follow_ups(kinds, &compared.before);
    let mut tested: Vec<Reordered> = usual
        .into_iter()
        .filter_map(|(line, next)| {
            test((line, kinds.get(line)?), (next, kinds.get(next)?), compared)
        })
        .collect();
    let limit = discovery_limit(tested.iter().map(|one| one.chance), tested.len());
    tested.retain(|one| {
        let failing = (one.now.1 - one.now.0) as f64;
        one.chance <= limit && failing >= LEAST * one.now.1 as f64
    });
    tested.sort_by(|a, b| a.chance.total_cmp(&b.chance).then(a.line.cmp(&b.line)));
    tested
}

/// What comes next after nearly all lines of a kind. Lines of one instant have no order.
fn usual_follow_ups(kinds: &[&[Timestamp]], usual: &Intervals) -> BTreeMap<usize, usize> {
    let within = |times: &[Timestamp]| times.iter().filter(|at| usual.contains(**at)).count();
    let asked: Vec<bool> =
        kinds.iter().map(|times| (LINES..=MOST).contains(&within(times))).collect();
    if kinds.len() < 2 || !asked.contains(&true) {
        return BTreeMap::new();
    }
    let mut sequence: Vec<(Timestamp, usize)> = Vec::new();
    for (kind, times) in kinds.iter().enumerate() {
        let times = times.iter().filter(|at| usual.contains(**at));
        sequence.extend(times.map(|at| (*at, kind)));
    }
    // Runs that are in order, which this sort makes use of.
    sequence.sort();
    let mut counts: BTreeMap<usize, (usize, BTreeMap<usize, usize>)> = BTreeMap::new();
    for pair in sequence.windows(2) {
        let [(at, kind), (next_at, next)] = *pair else { continue };
        let asked = asked.get(kind).copied().unwrap_or_default();
        if at < next_at && asked && usual.holding(at) == usual.holding(next_at) {
            let (all, by_next) = counts.entry(kind).or_default();
            *all += 1;
            *by_next.entry(next).or_default() += 1;
        }
    }
    let regular = counts.into_iter().filter_map(|(kind, (all, by_next))| {
        let (next, count) = by_next.into_iter().max_by_key(|(_, count)| *count)?;
        let enough = all >= LINES && count as f64 >= REGULAR * all as f64;
        (enough && next != kind).then_some((kind, next))
    });
    regular.collect()
}

fn test(
    (line, lines): (usize, &[Timestamp]),
    (usual_next, follow_ups): (usize, &[Timestamp]),
    compared: &ComparedTimes<'_>,
) -> Option<Reordered> {
    let next_after = |times: &[Timestamp], at: Timestamp| {
        times.get(times.partition_point(|time| *time <= at)).copied()
    };
    let in_usual = |at: &&Timestamp| compared.before.contains(**at);
    let mut delays: Vec<SignedDuration> = lines
        .iter()
        .filter(in_usual)
        .filter_map(|at| Some(next_after(follow_ups, *at)?.duration_since(*at)))
        .collect();
    delays.sort();
    // Some are late by chance: twice the delay that all but one in twenty keep.
    let due = *delays.get(delays.len() * 19 / 20)? * 2;
    let alone = |at: &&Timestamp| {
        next_after(lines, **at).is_none_or(|next| next.duration_since(**at) > due)
            && (in_usual(at) || at.checked_add(due).is_ok_and(|end| end <= compared.until))
    };
    let is_followed = |at: Timestamp| {
        next_after(follow_ups, at).is_some_and(|next| next.duration_since(at) <= due)
    };
    let comes_before = |at: Timestamp| {
        let last = follow_ups.partition_point(|time| *time < at).checked_sub(1);
        let last = last.and_then(|place| follow_ups.get(place));
        last.is_some_and(|last| at.duration_since(*last) <= due)
    };
    let observed = |counts: &dyn Fn(&&Timestamp) -> bool| -> Vec<(Timestamp, bool)> {
        let own = lines.iter().filter(counts).filter(alone);
        own.map(|at| (*at, !is_followed(*at))).collect()
    };
    let before = observed(&in_usual);
    let now = observed(&|at: &&Timestamp| compared.after.contains(**at));
    let failing = |cases: &[(Timestamp, bool)]| cases.iter().filter(|(_, fails)| *fails).count();
    let (failed, fails) = (failing(&before), failing(&now));
    if before.len() < LINES || (failed as f64) > (1.0 - REGULAR) * before.len() as f64 {
        return None;
    }
    let swapped = now.iter().filter(|(at, fails)| *fails && comes_before(*at)).count();
    let share = now.len() as f64 / (now.len() + before.len()) as f64;
    let more = fails as f64 >= share * (fails + failed) as f64;
    let chance = if more { two_sided(fails as f64, (fails + failed) as f64, share) } else { 1.0 };
    let counts = |cases: &[(Timestamp, bool)], failing: usize| (cases.len() - failing, cases.len());
    let (now_counts, before_counts) = (counts(&now, fails), counts(&before, failed));
    let mut cases = [before, now].concat();
    // A usual time that is given may lie after the time of interest.
    cases.sort_unstable();
    Some(Reordered {
        line,
        usual_next,
        now: now_counts,
        before: before_counts,
        swapped,
        chance,
        onset: share_onset(&cases),
    })
}

#[cfg(test)]
mod tests {
    use eog_core::Window;

    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    /// Two kinds, the second so long after the first as is given for each of some cases.
    fn kinds(delays: impl Iterator<Item = i64>) -> [Vec<Timestamp>; 2] {
        let cases: Vec<(i64, i64)> = (0..).map(|n| 10_000 * n).zip(delays).collect();
        let begun = cases.iter().map(|(begun, _)| at(*begun)).collect();
        let mut done: Vec<_> = cases.iter().map(|(begun, delay)| at(begun + delay)).collect();
        done.sort();
        [begun, done]
    }

    fn missed(kinds: &[Vec<Timestamp>]) -> Vec<((usize, usize), usize)> {
        let compared = ComparedTimes {
            before: Window::new(at(0), at(1_000_000)).unwrap().into(),
            after: Window::new(at(1_000_000), at(2_000_000)).unwrap(),
            until: at(2_000_000),
            holes: &[],
        };
        let kinds: Vec<&[Timestamp]> = kinds.iter().map(Vec::as_slice).collect();
        let first = |one: &Reordered| one.line == 0 && one.usual_next == 1;
        let found = reordered(&kinds, &compared).into_iter().filter(first);
        found.map(|one| (one.now, one.swapped)).collect()
    }

    #[test]
    fn a_follow_up_that_comes_late_or_before_is_found() {
        let usual = |n: i64| 100 + 7 * (n % 10);
        let cases = [
            ("as usual", kinds((0..200).map(usual)), vec![]),
            (
                "late",
                kinds((0..200).map(|n| if n > 120 { 5_000 } else { usual(n) })),
                vec![((21, 100), 0)],
            ),
            (
                "before",
                kinds((0..200).map(|n| if n > 120 { -100 } else { usual(n) })),
                vec![((21, 100), 79)],
            ),
            ("never regular", kinds((0..200).map(|n| 5_000 * (n % 2) - 200)), vec![]),
        ];
        for (what, kinds, expected) in cases {
            assert_eq!(missed(&kinds), expected, "{what}");
        }
    }

    #[test]
    fn lines_that_overlap_say_nothing() {
        // Twenty at once, in any order, from the middle on.
        let [begun, done] = kinds((0..100).map(|_| 100));
        let burst =
            |from: i64| (0..100).flat_map(move |n| (0..20).map(move |m| at(from + 10_000 * n + m)));
        let begun: Vec<_> = begun.into_iter().chain(burst(1_000_000)).collect();
        let done: Vec<_> = done.into_iter().chain(burst(1_000_100)).collect();
        assert_eq!(missed(&[begun, done]), []);
    }
}
