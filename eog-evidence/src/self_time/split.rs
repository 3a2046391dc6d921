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
    lists: impl Iterator<Item = &'a [Measured]>,
    alert: Timestamp,
) -> Option<Timestamp> {
    let mut better = Vec::new();
    let worse = lists.filter_map(|calls| {
        let ranked = Ranked::of(calls, alert)?;
        better.extend(ranked.change(Worse::Lower));
        ranked.change(Worse::Higher)
    });
    most_lost(worse.collect()).or_else(|| most_lost(better))
}

/// When something that is counted as one or nothing began to happen more often, by the same measure.
pub(super) fn became_more<'a>(
    lists: impl Iterator<Item = &'a [Measured]>,
    alert: Timestamp,
) -> Option<Timestamp> {
    most_lost(lists.filter_map(|calls| Ranked::of(calls, alert)?.change(Worse::Higher)).collect())
}

/// A change of one list: how much was lost since, and when it was.
type Change = (f64, Timestamp);

fn most_lost(changes: Vec<Change>) -> Option<Timestamp> {
    let most = changes.into_iter().max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    most.map(|(_, at)| at)
}

/// Which values are searched for after a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worse {
    Higher,
    Lower,
}

/// Calls, each with the rank of its value; of equal values the mean of their ranks.
struct Ranked<'a> {
    calls: &'a [Measured],
    ranks: Vec<f64>,
    /// How much of what ranks can vary is left where values are equal.
    varied: f64,
    alert: Timestamp,
}

impl<'a> Ranked<'a> {
    /// Nothing where no change could be found: too few calls, or none in the time before the alert.
    fn of(calls: &'a [Measured], alert: Timestamp) -> Option<Self> {
        if calls.len() < 2 * MIN_CALLS || !calls.iter().any(|(at, _)| is_asked(*at, alert)) {
            return None;
        }
        let count = calls.len() as f64;
        let mut order: Vec<(f64, usize)> =
            calls.iter().enumerate().map(|(place, (_, value))| (*value, place)).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut ranks = vec![0.0; calls.len()];
        let (mut first, mut tied) = (0, 0.0);
        for equal in order.chunk_by(|a, b| a.0 == b.0) {
            let rank = first as f64 + (equal.len() as f64 + 1.0) / 2.0;
            for (_, place) in equal {
                if let Some(slot) = ranks.get_mut(*place) {
                    *slot = rank;
                }
            }
            first += equal.len();
            tied += (equal.len() as f64).powi(3) - equal.len() as f64;
        }
        // Equal values vary less, as in the test of Wilcoxon: most of all where there are but two, such as failed and not.
        let varied = (1.0 - tied / (count.powi(3) - count).max(1.0)).max(f64::MIN_POSITIVE);
        Some(Self { calls, ranks, varied, alert })
    }

    /// The change from which on values are worse, if there is one and enough was measured before and after.
    fn change(&self, worse: Worse) -> Option<Change> {
        let (before, after) = self.calls.split_at(self.change_point(worse)?);
        if before.len() < MIN_CALLS || after.len() < MIN_CALLS {
            return None;
        }
        let more = mean_of(after) - mean_of(before);
        let more = if worse == Worse::Higher { more } else { -more };
        let lost = more * after.len() as f64;
        Some((lost, after.first()?.0)).filter(|(lost, _)| *lost > 0.0)
    }

    /// The place from which on values are higher, or lower, if they are by more than chance: the rank test of Pettitt (*A
    /// non-parametric approach to the change-point problem*, 1979), among the places before the alert.
    fn change_point(&self, worse: Worse) -> Option<usize> {
        let count = self.calls.len() as f64;
        let (mut sum, mut best) = (0.0, None);
        for (place, (rank, (at, _))) in self.ranks.iter().zip(self.calls).enumerate() {
            // How much lower those before this place rank than those from it on.
            let lower = place as f64 * (count + 1.0) - 2.0 * sum;
            let apart = if worse == Worse::Higher { lower } else { -lower };
            if is_asked(*at, self.alert) && best.is_none_or(|(_, known)| apart > known) {
                best = Some((place, apart));
            }
            sum += rank;
        }
        let (place, apart) = best?;
        let certain = 6.0 * apart * apart / (count.powi(3) + count.powi(2)) / self.varied;
        (apart > 0.0 && certain > CERTAIN).then_some(place)
    }
}

fn is_asked(at: Timestamp, alert: Timestamp) -> bool {
    let earliest = alert.checked_sub(LATEST_ALERT).unwrap_or(Timestamp::MIN);
    at >= earliest && at <= alert
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
    fn a_few_that_fail_suffice_where_hardly_any_did() {
        let failing =
            |from: i64| calls(200, |at| if at >= from && at % 4 == 0 { 1.0 } else { 0.0 });
        let few = failing(160);
        assert_eq!(trouble_began([few.as_slice()].into_iter(), second(190)), Some(second(160)));
        let always = failing(0);
        assert_eq!(trouble_began([always.as_slice()].into_iter(), second(190)), None);
    }
}
