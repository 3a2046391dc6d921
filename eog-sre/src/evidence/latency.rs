//! Percentiles from cumulative histogram buckets.

use std::collections::BTreeMap;

use eog_core::Window;

use crate::store::Samples;

/// How much a counter grew within a window, and in how many seconds, from the starting point to
/// the last sample. Nothing without a sample in the window. A fall is a restart of the counter.
///
/// The points are in time order. The last sample before the window is the starting point, so that
/// a slow scrape loses nothing.
pub(crate) fn growth(points: &Samples, window: Window) -> Option<(f64, f64)> {
    let inside = points.at.rows(window);
    let last = inside.end.checked_sub(1).filter(|last| inside.contains(last))?;
    let first = inside.start.saturating_sub(1);
    let seconds = points.at.get(last).duration_since(points.at.get(first)).as_secs_f64();
    let steps = points.value.get(first..=last)?.windows(2).map(|pair| match pair {
        [old, new] if new >= old => new - old,
        [_, new] => *new,
        _ => 0.0,
    });
    Some((steps.sum(), seconds))
}

/// Upper bounds and how much each cumulative bucket grew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets {
    /// By the bits of the bound, which for bounds of zero and above sort as the bounds do.
    counts: BTreeMap<u64, f64>,
}

impl Buckets {
    pub(crate) fn add(&mut self, bound: f64, count: f64) {
        if bound >= 0.0 && count.is_finite() {
            *self.counts.entry(bound.to_bits()).or_default() += count;
        }
    }

    /// How many observations there are.
    pub(crate) fn total(&self) -> f64 {
        self.counts.values().copied().fold(0.0, f64::max)
    }

    /// The value below which a share of the observations lies, interpolated within its bucket; the
    /// last finite bound when it lies beyond it.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let total = self.total();
        if total <= 0.0 {
            return None;
        }
        let rank = share * total;
        let (mut low, mut below) = (0.0_f64, 0.0_f64);
        for (bits, count) in &self.counts {
            let bound = f64::from_bits(*bits);
            // Sums of counters scraped at different times need not be cumulative to the last digit.
            let count = count.max(below);
            if count >= rank {
                if !bound.is_finite() {
                    return Some(low);
                }
                let inside = count - below;
                let part = if inside > 0.0 { (rank - below) / inside } else { 1.0 };
                return Some(low + (bound - low) * part);
            }
            (low, below) = (if bound.is_finite() { bound } else { low }, count);
        }
        Some(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eog_core::Timestamp;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn counters_grow_and_restart() {
        let mut points = Samples::default();
        for (second, value) in [(0, 5.0), (10, 7.0), (20, 10.0), (30, 1.0), (40, 4.0)] {
            points.push(second * 1_000_000_000, value);
        }
        let cases = [((5, 25), 5.0), ((5, 45), 9.0), ((0, 5), 0.0), ((50, 60), 0.0)];
        for ((start, end), expected) in cases {
            let window = Window::new(at(start), at(end)).unwrap();
            let grown = growth(&points, window).map_or(0.0, |(grown, _)| grown);
            assert_eq!(grown, expected, "{start} to {end}");
        }
    }

    #[test]
    fn quantiles_are_interpolated() {
        let mut buckets = Buckets::default();
        assert_eq!(buckets.quantile(0.95), None);
        for (bound, count) in [(10.0, 50.0), (20.0, 90.0), (40.0, 100.0), (f64::INFINITY, 100.0)] {
            buckets.add(bound, count);
        }
        assert_eq!(buckets.quantile(0.5), Some(10.0));
        assert_eq!(buckets.quantile(0.95), Some(30.0));
        buckets.add(f64::INFINITY, 100.0);
        assert_eq!(buckets.quantile(0.95), Some(40.0));
    }
}
