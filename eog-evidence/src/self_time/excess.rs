//! How much longer something takes than before, and whether that is more than chance.

use eog_core::Timestamp;

use crate::shift::MIN_RELATIVE;
use crate::stats::{BEYOND_CHANCE, mean, quantile};

/// Fewest calls of a period that are conclusive.
pub(super) const MIN_CALLS: usize = 5;

/// Means are compared over at most this many batches of a period. Requests come in bursts of one kind:
/// their means over batches show how widely means lie, whatever the reason (the method of batch means, Law and
/// Kelton, *Simulation Modeling and Analysis*).
const BATCHES: usize = 20;

/// What is measured of calls, before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Excess {
    /// The mean before.
    pub(super) usual: f64,
    /// The mean after.
    pub(super) now: f64,
    /// How many calls there were after.
    pub(super) count: usize,
    /// The difference of the means is more than chance.
    stands_out: bool,
}

impl Excess {
    /// What calls are like before and after; nothing with fewer than 5 in either part.
    pub(super) fn of(before: &[Measured], after: &[Measured]) -> Option<Self> {
        if before.len() < MIN_CALLS || after.len() < MIN_CALLS {
            return None;
        }
        Some(Self::between(&batches(before), &batches(after), after.len()))
    }

    /// The means of batches before and after.
    pub(super) fn between(old: &[f64], new: &[f64], count: usize) -> Self {
        let (usual, now) = (mean(old), mean(new));
        Self { usual, now, count, stands_out: differs(old, new) }
    }

    /// The same of whole numbers, such as calls for each request, by means of batches, and how many requests these
    /// are. However alike the batches are, whole numbers lie no closer to their mean than to the next ones.
    pub(super) fn of_counts(
        (old, all_old): (&[f64], usize),
        (new, all_new): (&[f64], usize),
    ) -> Self {
        let excess = Self::between(old, new, all_new);
        let least = |mean: f64, count: usize| mean.fract() * (1.0 - mean.fract()) / count as f64;
        let error = least(excess.usual, all_old) + least(excess.now, all_new);
        let stands_out = excess.stands_out && excess.each().abs() > BEYOND_CHANCE * error.sqrt();
        Self { stands_out, ..excess }
    }

    /// How much more it is for each call.
    pub(super) fn each(&self) -> f64 {
        self.now - self.usual
    }

    /// Whether it is less, by more than chance.
    pub(super) fn is_fewer(&self) -> bool {
        self.stands_out && self.each() < 0.0
    }

    /// Whether it is more by more than chance, and by more than a tenth of a level.
    pub(super) fn stands_out(&self, level: f64) -> bool {
        self.stands_out && self.each() > MIN_RELATIVE * level.abs()
    }
}

/// A call as one number: when, and how long or whether it failed.
pub(super) type Measured = (Timestamp, f64);

/// Means of batches of equal counts, in time order.
fn batches(calls: &[Measured]) -> Vec<f64> {
    in_batches(calls).map(mean_of).collect()
}

/// At most twenty batches of equal counts, of at least five calls each; a rest is left out.
pub(super) fn in_batches(calls: &[Measured]) -> impl Iterator<Item = &[Measured]> {
    calls.chunks_exact(calls.len().div_ceil(BATCHES).max(MIN_CALLS))
}

pub(super) fn mean_of(calls: &[Measured]) -> f64 {
    calls.iter().map(|(_, value)| value).sum::<f64>() / calls.len().max(1) as f64
}

/// Whether the means of two samples differ by more than chance: Welch's test at 4 σ. A sample of one value is
/// as wide as the other.
fn differs(old: &[f64], new: &[f64]) -> bool {
    let variance = |values: &[f64]| {
        let (centre, count) = (mean(values), values.len() as f64);
        let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
        (values.len() > 1).then(|| squares / (count - 1.0))
    };
    let (wide, wide_new) = match (variance(old), variance(new)) {
        (Some(old), Some(new)) => (old, new),
        (Some(one), None) | (None, Some(one)) => (one, one),
        (None, None) => return false,
    };
    let (of_old, of_new) = (wide / old.len() as f64, wide_new / new.len() as f64);
    let error = of_old + of_new;
    let part = |of: f64, count: usize| of * of / (count as f64 - 1.0).max(1.0);
    let freedom = error * error / (part(of_old, old.len()) + part(of_new, new.len()));
    let difference = (mean(new) - mean(old)).abs();
    if error == 0.0 {
        return difference > 0.0 && old.len() + new.len() > 2;
    }
    difference / error.sqrt() > quantile(freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(values: impl Iterator<Item = f64>) -> Vec<Measured> {
        (0..).zip(values).map(|(n, ms)| (Timestamp::from_second(n).unwrap(), ms)).collect()
    }

    fn noisy(level: f64, count: usize) -> Vec<Measured> {
        calls((0..count).map(move |n| level + [-3.0, 1.0, 2.0, 0.0, -1.0, 4.0, -3.0][n % 7]))
    }

    fn stands_out(before: &[Measured], after: &[Measured]) -> Option<bool> {
        Excess::of(before, after).map(|excess| excess.stands_out(excess.usual))
    }

    #[test]
    fn a_difference_stands_out_beyond_chance_and_a_tenth() {
        assert_eq!(stands_out(&noisy(100.0, 200), &noisy(150.0, 50)), Some(true));
        assert_eq!(stands_out(&noisy(100.0, 200), &noisy(108.0, 200)), Some(false), "a tenth");
        assert_eq!(stands_out(&noisy(100.0, 200), &noisy(50.0, 50)), Some(false), "less");
        assert_eq!(stands_out(&noisy(100.0, 200), &noisy(150.0, 4)), None, "too few");
    }

    #[test]
    fn bursts_are_no_evidence() {
        // Every second batch is as slow before as all are after.
        let bursts = calls((0..200).map(|n| if n / 10 % 2 == 0 { 100.0 } else { 200.0 }));
        assert_eq!(stands_out(&bursts, &noisy(200.0, 20)), Some(false));
    }

    #[test]
    fn whole_numbers_are_no_closer_than_the_next_ones() {
        // Batches that are alike by chance: 29 of 50 requests make a call, then 12 of 30.
        let fewer = |old: &[f64], new: &[f64], counts: (usize, usize)| {
            Excess::of_counts((old, counts.0), (new, counts.1)).is_fewer()
        };
        assert!(!fewer(&[0.58; 10], &[0.4; 6], (50, 30)));
        assert!(fewer(&[0.58; 10], &[0.4; 6], (5_000, 3_000)));
        // Each request made one call.
        assert!(fewer(&[1.0; 10], &[0.4; 6], (50, 30)));
    }

    #[test]
    fn few_batches_need_more() {
        assert!((quantile(1e9) - 4.0).abs() < 1e-6);
        assert!(quantile(4.0) > 10.0);
        assert!(quantile(30.0) < 4.8);
    }
}
