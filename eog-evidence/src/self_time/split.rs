//! When trouble began, by the calls themselves: alerts come late.

use eog_core::Timestamp;
use jiff::SignedDuration;

use super::excess::{MIN_CALLS, Measured, mean_of};

/// Alerts are commonly evaluated over so long, and come at most so much later than the trouble.
const LATEST_ALERT: SignedDuration = SignedDuration::from_mins(5);

/// A change point by Pettitt's test counts when its probability under chance is below e⁻⁸, as beyond 4 σ.
const CERTAIN: f64 = 8.0;

/// When the calls of the lists began to be slower or to fail: of all change points in the five minutes before an
/// alert, that of the list in which most was lost since. Where none became worse, that of the list that became most
/// better: failing is commonly faster than answering. Nothing where no list changed.
pub(super) fn trouble_began<'a>(
    lists: impl Iterator<Item = &'a [Measured]> + Clone,
    alert: Timestamp,
) -> Option<Timestamp> {
    worst_change(lists.clone(), alert, 1.0).or_else(|| worst_change(lists, alert, -1.0))
}

/// When something that is counted as one or nothing began to happen more often, by the same measure.
pub(super) fn became_more<'a>(
    lists: impl Iterator<Item = &'a [Measured]>,
    alert: Timestamp,
) -> Option<Timestamp> {
    worst_change(lists, alert, 1.0)
}

fn worst_change<'a>(
    lists: impl Iterator<Item = &'a [Measured]>,
    alert: Timestamp,
    worse: f64,
) -> Option<Timestamp> {
    let earliest = alert.checked_sub(LATEST_ALERT).unwrap_or(Timestamp::MIN);
    let began = lists.filter_map(|calls| {
        let calls: Vec<Measured> = calls.iter().map(|(at, value)| (*at, worse * value)).collect();
        let place = change_point(&calls, |at| at >= earliest && at <= alert)?;
        let (before, after) = calls.split_at(place);
        if before.len() < MIN_CALLS || after.len() < MIN_CALLS {
            return None;
        }
        let lost = (mean_of(after) - mean_of(before)) * after.len() as f64;
        Some((lost, after.first()?.0)).filter(|(lost, _)| *lost > 0.0)
    });
    began.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, at)| at)
}

/// The place from which on values are higher, if they are by more than chance: the rank test of Pettitt (*A
/// non-parametric approach to the change-point problem*, 1979), among the places whose times are asked for.
fn change_point(calls: &[Measured], asked: impl Fn(Timestamp) -> bool) -> Option<usize> {
    let count = calls.len() as f64;
    let mut order: Vec<usize> = (0..calls.len()).collect();
    let value = |place: usize| calls.get(place).map_or(0.0, |(_, value)| *value);
    order.sort_by(|a, b| value(*a).total_cmp(&value(*b)).then(a.cmp(b)));
    let mut ranks = vec![0.0; calls.len()];
    let (mut first, mut tied) = (0, 0.0);
    for equal in order.chunk_by(|a, b| value(*a) == value(*b)) {
        let rank = first as f64 + (equal.len() as f64 + 1.0) / 2.0;
        for place in equal {
            if let Some(slot) = ranks.get_mut(*place) {
                *slot = rank;
            }
        }
        first += equal.len();
        tied += (equal.len() as f64).powi(3) - equal.len() as f64;
    }
    let (mut sum, mut best) = (0.0, None);
    for (place, (rank, (at, _))) in ranks.iter().zip(calls).enumerate() {
        // How much lower those before this place rank than those from it on.
        let lower = place as f64 * (count + 1.0) - 2.0 * sum;
        if asked(*at) && best.is_none_or(|(_, known)| lower > known) {
            best = Some((place, lower));
        }
        sum += rank;
    }
    let (place, lower) = best?;
    // Equal values vary less, as in the test of Wilcoxon: most of all where there are but two, such as failed and not.
    let varied = (1.0 - tied / (count.powi(3) - count).max(1.0)).max(f64::MIN_POSITIVE);
    let certain = 6.0 * lower * lower / (count.powi(3) + count.powi(2)) / varied;
    (lower > 0.0 && certain > CERTAIN).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at: i64) -> Timestamp {
        Timestamp::from_second(at).unwrap()
    }

    fn calls(count: i64, value: impl Fn(i64) -> f64) -> Vec<Measured> {
        (0..count).map(|at| (second(at), value(at))).collect()
    }

    #[test]
    fn trouble_begins_where_ranks_change() {
        let slow = calls(600, |at| if at < 500 { 10.0 + (at % 7) as f64 } else { 80.0 });
        let still = calls(600, |at| 900.0 + (at * 31 % 17) as f64);
        let lists = || [slow.as_slice(), still.as_slice()].into_iter();
        assert_eq!(trouble_began(lists(), second(560)), Some(second(500)));
        // Too long before the alert, and after it.
        assert_ne!(trouble_began(lists(), second(900)), Some(second(500)));
        assert_eq!(trouble_began([still.as_slice()].into_iter(), second(560)), None);
    }

    #[test]
    fn a_few_that_fail_tell_where_hardly_any_did() {
        let failing =
            |from: i64| calls(200, |at| if at >= from && at % 4 == 0 { 1.0 } else { 0.0 });
        let few = failing(160);
        assert_eq!(trouble_began([few.as_slice()].into_iter(), second(190)), Some(second(160)));
        let always = failing(0);
        assert_eq!(trouble_began([always.as_slice()].into_iter(), second(190)), None);
    }
}
