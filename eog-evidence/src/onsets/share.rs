//! When more of what happens became bad.

use eog_core::Timestamp;
use eog_core::incident::Onset;

use super::dispersion::{Dispersion, batches, best, temper};
use super::{Gap, interval, log_gammas};

/// When the share of bad requests rose, from single requests in time order, each bad or good.
///
/// Requests before the change are bad with one unknown probability, requests after it with a
/// higher one. Where no request was bad before and each is after, the interval ends at the first bad
/// one and begins at or just before the last good one. Where only some are bad after it, it begins the earlier, the
/// fewer they are; where some were bad before, it distinguishes them from those of the incident, and is the
/// wider, the more they come in bursts. What comes after the last bad request
/// says nothing about the beginning. Nothing for fewer than two requests, and where the share did not
/// rise.
///
/// ```
/// use eog_core::Timestamp;
/// use eog_evidence::share_onset;
/// let second = |s: i64| Timestamp::from_second(s).unwrap();
/// let requests: Vec<_> = (0..40).map(|s| (second(s), s >= 30)).collect();
/// let onset = share_onset(&requests).unwrap();
/// assert_eq!((onset.earliest(), onset.latest()), (second(28), second(30)));
/// ```
pub fn share_onset(requests: &[(Timestamp, bool)]) -> Option<Onset> {
    let over = requests.iter().rposition(|(_, bad)| *bad)?;
    let requests = requests.get(..=over)?;
    let count = requests.len();
    let all_bad = requests.iter().filter(|(_, bad)| *bad).count();
    let (half, whole) = (log_gammas(0.5, count), log_gammas(1.0, count));
    let table = |table: &[f64], n: usize| table.get(n).copied().unwrap_or(f64::NAN);
    // ln B(bad + 1/2, good + 1/2): the likelihood under a Jeffreys prior.
    let likelihood =
        |bad: usize, n: usize| table(&half, bad) + table(&half, n - bad) - table(&whole, n);
    let mut bad = 0;
    let mut gaps = Vec::with_capacity(count);
    for (before, pair) in (1..).zip(requests.windows(2)) {
        let [(from, was_bad), (to, _)] = *pair else { continue };
        bad += usize::from(was_bad);
        let (after, bad_after) = (count - before, all_bad - bad);
        // Compared without division: more of those after it are bad than of those before it.
        let rises = bad_after * before > bad * after;
        let likelihood = match rises {
            true => likelihood(bad, before) + likelihood(bad_after, after),
            false => f64::NEG_INFINITY,
        };
        gaps.push(Gap { from, to, likelihood });
    }
    let (old, new) = requests.split_at(best(&gaps)? + 1);
    let mut dispersion = Dispersion::default();
    add_requests(&mut dispersion, old);
    add_requests(&mut dispersion, new);
    temper(&mut gaps, dispersion);
    interval(&gaps)
}

/// Adds requests of which each is bad with one probability.
fn add_requests(dispersion: &mut Dispersion, requests: &[(Timestamp, bool)]) {
    let size = requests.len() / batches(requests.len()).max(1);
    let bad =
        |requests: &[(Timestamp, bool)]| requests.iter().filter(|(_, bad)| *bad).count() as f64;
    let counts: Vec<f64> = requests.chunks_exact(size.max(1)).map(bad).collect();
    let share = (bad(requests) + 0.5) / (requests.len() as f64 + 1.0);
    let mean = share * size as f64;
    dispersion.add(&counts, mean, mean * (1.0 - share));
}

/// When the share of bad requests rose, from counts: at each time how many requests there were since
/// the time before, and how many of them were bad.
///
/// As [`share_onset`]. Where the change lies within the time of a count, that count has a part of
/// both shares; the interval therefore reaches back by one count more.
///
/// ```
/// use eog_core::Timestamp;
/// use eog_evidence::counted_share_onset;
/// let minute = |m: i64| Timestamp::from_second(60 * m).unwrap();
/// let counts: Vec<_> = (0..40).map(|m| (minute(m), if m < 30 { 0.0 } else { 9.0 }, 20.0)).collect();
/// let onset = counted_share_onset(&counts).unwrap();
/// assert_eq!((onset.earliest(), onset.latest()), (minute(28), minute(30)));
/// ```
pub fn counted_share_onset(counts: &[(Timestamp, f64, f64)]) -> Option<Onset> {
    let over = counts.iter().rposition(|(_, bad, _)| *bad > 0.0)?;
    let counts = counts.get(..=over)?;
    let total = counts.iter().fold((0.0, 0.0), |(bad, all), (_, more, of)| (bad + more, all + of));
    let likelihood = |(bad, all): (f64, f64)| {
        let good = (all - bad).max(0.0);
        libm::lgamma(bad + 0.5) + libm::lgamma(good + 0.5) - libm::lgamma(all + 1.0)
    };
    let mut before = (0.0, 0.0);
    let mut began = counts.first()?.0;
    let mut gaps = Vec::with_capacity(counts.len());
    for pair in counts.windows(2) {
        let [(at, bad, all), (to, ..)] = *pair else { continue };
        before = (before.0 + bad, before.1 + all);
        let after = (total.0 - before.0, total.1 - before.1);
        let likelihood = match after.0 * before.1 > before.0 * after.1 {
            true => likelihood(before) + likelihood(after),
            false => f64::NEG_INFINITY,
        };
        gaps.push(Gap { from: began, to, likelihood });
        began = at;
    }
    interval(&gaps)
}
