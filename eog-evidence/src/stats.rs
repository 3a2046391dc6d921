//! Robust statistics: a few wild values must not move them.

/// Makes the median absolute deviation estimate the standard deviation of normal noise.
pub(crate) const MAD_TO_SIGMA: f64 = 1.4826;

/// The median, or nothing for no values. The mean of the middle two when their number is even.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    // Halved first, so that huge values do not overflow.
    sorted.get(middle.checked_sub(1)?).map(|lower| lower / 2.0 + upper / 2.0)
}

/// The mean; zero for no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The median absolute deviation from a centre.
pub(crate) fn deviation(values: impl IntoIterator<Item = f64>, centre: f64) -> Option<f64> {
    median(values.into_iter().map(|value| (value - centre).abs()))
}

/// What exceeds this percentile of usual values is not usual.
pub(crate) const USUAL_PERCENT: usize = 95;

/// The smallest value that a share of all, in percent, does not exceed (nearest rank).
pub(crate) fn percentile(values: impl IntoIterator<Item = f64>, percent: usize) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() * percent).div_ceil(100).checked_sub(1)?).copied()
}

/// What makes a mean absolute deviation comparable with a standard deviation of a normal
/// distribution.
const MEAN_DEVIATION_TO_SIGMA: f64 = 1.2533;

/// How widely values lie around their median, as a standard deviation: by the median absolute
/// deviation, or by the mean absolute deviation where that is zero because more than half of the
/// values are equal (Iglewicz and Hoaglin 1993).
pub(crate) fn scale(values: &[f64]) -> Option<f64> {
    let centre = median(values.iter().copied())?;
    let robust = MAD_TO_SIGMA * deviation(values.iter().copied(), centre)?;
    if robust > 0.0 {
        return Some(robust);
    }
    let distances = values.iter().filter(|value| value.is_finite()).map(|v| (v - centre).abs());
    Some(MEAN_DEVIATION_TO_SIGMA * distances.sum::<f64>() / values.len() as f64)
}

/// Beyond this many standard deviations counts, levels and sums differ by more than chance: many are compared at once.
pub(crate) const BEYOND_CHANCE: f64 = 4.0;

/// Beyond this many standard deviations it is likely that something became more, one in a hundred by chance: with
/// others of its kind it may be reported.
pub(crate) const LIKELY: f64 = 2.33;

/// Whether the rates of two counts differ by more than the chance of counting: `(count, seconds)`
/// before and after.
///
/// The difference of square roots, which have about the same variance whatever the rate (Huffman,
/// *An improved approximate two-sample Poisson test*, 1984).
///
/// ```
/// use eog_evidence::rates_differ;
/// assert!(!rates_differ((19.0, 1100.0), (28.0, 1100.0)));
/// assert!(rates_differ((190.0, 1100.0), (280.0, 1100.0)));
/// ```
pub fn rates_differ(before: (f64, f64), after: (f64, f64)) -> bool {
    let ((old, old_seconds), (new, new_seconds)) = (before, after);
    let ratio = new_seconds / old_seconds;
    let root = |count: f64| (count.max(0.0) + 0.375).sqrt();
    let z = 2.0 * (root(new) - root(old) * ratio.sqrt()) / (1.0 + ratio).sqrt();
    z.abs() >= BEYOND_CHANCE
}

/// Beyond this many standard deviations shares differ by more than chance, at the usual 5 %: there are
/// few requests, and that a share rose is one sign among others.
const SHARES_DIFFER: f64 = 1.96;

/// Whether two shares differ by more than the chance of counting: `(part, whole)` before and after.
///
/// The difference of the angles whose sines are the roots of the shares, which have about the same
/// variance whatever the share (Anscombe, *The transformation of Poisson, binomial and
/// negative-binomial data*, 1948).
///
/// ```
/// use eog_evidence::shares_differ;
/// assert!(!shares_differ((11.0, 110.0), (16.0, 93.0)));
/// assert!(shares_differ((11.0, 110.0), (30.0, 93.0)));
/// assert!(shares_differ((2.0, 304.0), (29.0, 291.0)));
/// ```
pub fn shares_differ(before: (f64, f64), after: (f64, f64)) -> bool {
    shares_apart(before, after).abs() >= SHARES_DIFFER
}

/// How many standard deviations two shares are apart, by the same measure.
pub(crate) fn shares_apart(before: (f64, f64), after: (f64, f64)) -> f64 {
    let angle = |(part, whole): (f64, f64)| {
        let share = (part.max(0.0) + 0.375) / (whole.max(0.0) + 0.75);
        share.clamp(0.0, 1.0).sqrt().asin()
    };
    let variance = |(_, whole): (f64, f64)| 1.0 / (4.0 * whole.max(0.0) + 2.0);
    (angle(after) - angle(before)) / (variance(before) + variance(after)).sqrt()
}

/// Shares of one stratum: `(part, whole)` before and after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fourfold {
    pub(crate) before: (f64, f64),
    pub(crate) after: (f64, f64),
}

/// How many standard deviations shares are apart that are compared within each stratum alone; below zero where they are
/// less after. Zero where no stratum has both.
///
/// The sum of the differences from what is expected of hypergeometric draws, less one half for whole numbers (Mantel
/// and Haenszel, *Statistical aspects of the analysis of data from retrospective studies of disease*, 1959).
pub(crate) fn strata_apart(strata: impl Iterator<Item = Fourfold>) -> f64 {
    let (mut difference, mut variance) = (0.0, 0.0);
    for Fourfold { before, after } in strata {
        let (whole, part) = (before.1 + after.1, before.0 + after.0);
        if before.1 <= 0.0 || after.1 <= 0.0 || whole <= 1.0 {
            continue;
        }
        difference += after.0 - after.1 * part / whole;
        variance += before.1 * after.1 * part * (whole - part) / (whole * whole * (whole - 1.0));
    }
    if variance <= 0.0 {
        return 0.0;
    }
    let beyond = (difference.abs() - 0.5).max(0.0);
    beyond.copysign(difference) / variance.sqrt()
}

/// How many standard deviations the ranks of two samples are apart (Mann and Whitney, *On a test of whether one of two
/// random variables is stochastically larger than the other*, 1947); above zero where the second is larger.
pub(crate) fn ranks_apart(before: &[f64], after: &[f64]) -> f64 {
    let mut sorted = before.to_vec();
    sorted.sort_by(f64::total_cmp);
    let wins: f64 = after
        .iter()
        .map(|value| {
            let below = sorted.partition_point(|other| other < value);
            let not_above = sorted.partition_point(|other| other <= value);
            (below + not_above) as f64 / 2.0
        })
        .sum();
    let (m, n) = (before.len() as f64, after.len() as f64);
    let spread = (m * n * (m + n + 1.0) / 12.0).sqrt();
    if spread > 0.0 { (wins - m * n / 2.0) / spread } else { 0.0 }
}

/// The quantile of Student's t that corresponds to 4 σ of the normal distribution, by the expansion of Cornish and
/// Fisher (Abramowitz and Stegun 26.7.5).
pub(crate) fn quantile(freedom: f64) -> f64 {
    let (z, n) = (BEYOND_CHANCE, freedom.max(1.0));
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / n + second / n.powi(2) + third / n.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let cases: [(&[f64], Option<f64>); 5] = [
            (&[], None),
            (&[3.0], Some(3.0)),
            (&[9.0, 1.0, 5.0], Some(5.0)),
            (&[4.0, 1.0, 2.0, 1000.0], Some(3.0)),
            (&[f64::NAN, 2.0], Some(2.0)),
        ];
        for (values, expected) in cases {
            assert_eq!(median(values.iter().copied()), expected, "{values:?}");
        }
        assert_eq!(median([f64::MAX, f64::MAX]), Some(f64::MAX));
    }

    #[test]
    fn ranks_show_how_far_samples_are_apart() {
        let many = |from: u32| (from..from + 10).map(f64::from).collect::<Vec<f64>>();
        assert!(ranks_apart(&many(0), &many(10)) > 3.7);
        assert!(ranks_apart(&many(10), &many(0)) < -3.7);
        assert_eq!(ranks_apart(&[1.0; 9], &[1.0; 4]), 0.0, "ties");
        assert_eq!(ranks_apart(&[], &[1.0]), 0.0);
        // However far away, two values are few.
        assert!(ranks_apart(&many(0), &[1e9; 2]) < 3.0);
    }

    #[test]
    fn shares_are_compared_within_strata() {
        let of = |before, after| Fourfold { before, after };
        let apart = |all: &[Fourfold]| strata_apart(all.iter().copied());
        assert!(apart(&[of((26.0, 26.0), (7.0, 20.0))]) < -BEYOND_CHANCE);
        assert!(apart(&[of((7.0, 20.0), (26.0, 26.0))]) > BEYOND_CHANCE);
        assert!(apart(&[of((5.0, 5.0), (1.0, 5.0))]) > -BEYOND_CHANCE, "too few");
        // Each operation as before, in another mix: by themselves 90 of 100 and 30 of 100.
        let mix = [of((90.0, 90.0), (30.0, 30.0)), of((0.0, 10.0), (0.0, 70.0))];
        assert_eq!(apart(&mix), 0.0);
        assert_eq!(apart(&[of((0.0, 0.0), (0.0, 9.0))]), 0.0);
        assert_eq!(apart(&[]), 0.0);
    }

    #[test]
    fn one_wild_value_does_not_move_the_deviation() {
        assert_eq!(deviation([10.0, 11.0, 9.0, 10.0, 900.0], 10.0), Some(1.0));
    }
}
