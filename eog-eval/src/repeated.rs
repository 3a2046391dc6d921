//! Repeated runs of the same incidents: what succeeds at least once, what most of the time, and the
//! gap between; shares with their intervals.

use std::fmt;

use eog_simulate::RandomSeed;
use serde::Serialize;

/// The quantile of the normal distribution for an interval of 95 %.
const Z: f64 = 1.959_964;

/// An interval that holds the true value with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// How many samples a bootstrap draws.
const SAMPLES: usize = 2_000;

impl Interval {
    /// That of a mean by the percentile bootstrap over incidents (Efron 1979): 2,000 samples, the same ones for equal
    /// values.
    pub(crate) fn bootstrap(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self { low: 0.0, high: 0.0 };
        }
        let mut draws = RandomSeed::from(1).stream("bootstrap");
        let mut means: Vec<f64> = (0..SAMPLES)
            .map(|_| {
                let drawn = (0..values.len()).map(|_| values[draws.position(values.len())]);
                drawn.sum::<f64>() / values.len() as f64
            })
            .collect();
        means.sort_by(f64::total_cmp);
        let at = |share: f64| means[(share * (SAMPLES - 1) as f64).round() as usize];
        Self { low: at(0.025), high: at(0.975) }
    }
}

/// A share of scenarios, or a mean over them, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The value.
    pub value: f64,
    /// Its interval over scenarios.
    pub interval: Interval,
}

impl Share {
    /// For a cell of a table: two decimals.
    pub(crate) fn short(&self) -> String {
        let Self { value, interval: Interval { low, high } } = self;
        format!("{value:.2} [{low:.2}, {high:.2}]")
    }
}

/// How far runs of the same incidents succeed, and whether they agree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Repeated {
    /// At least one of k runs succeeds.
    pub pass: Share,
    /// More than half of k runs do.
    pub majority: Share,
    /// The difference: what is found, but not reliably.
    pub reliability_gap: Share,
    /// All k runs succeed.
    pub always: Share,
    /// All k runs agree on whether they do.
    pub consistent: Share,
}

impl Repeated {
    /// Sums up incidents, each by how many runs there are and how many of them succeeded. With more
    /// than k runs of an incident, its shares are expected values over all choices of k of them.
    pub(crate) fn of(incidents: &[(usize, usize)], k: usize) -> Self {
        let share = |of: &dyn Fn(usize) -> bool| {
            wilson(incidents.iter().map(|(runs, successes)| expected(*runs, *successes, k, of)))
        };
        Self {
            pass: share(&|successes| successes >= 1),
            majority: share(&|successes| 2 * successes > k),
            reliability_gap: share(&|successes| successes >= 1 && 2 * successes <= k),
            always: share(&|successes| successes == k),
            consistent: share(&|successes| successes == k || successes == 0),
        }
    }

    /// The rows of a table; `consistent` is what the last one is called.
    pub(crate) fn rows(&self, k: usize, consistent: String) -> [(String, Share); 5] {
        [
            (format!("Pass@{k}"), self.pass),
            (format!("Majority@{k}"), self.majority),
            ("reliability gap".into(), self.reliability_gap),
            ("always found".into(), self.always),
            (consistent, self.consistent),
        ]
    }
}

/// Writes a row of a table for each share.
pub(crate) fn write_rows(
    f: &mut fmt::Formatter<'_>,
    rows: impl IntoIterator<Item = (String, Share)>,
) -> fmt::Result {
    rows.into_iter().try_for_each(|(name, share)| writeln!(f, "  {name:<24}{share}"))
}

/// The probability that k of n runs, of which some succeeded, are such that `of` holds for the
/// number of successes among them.
fn expected(n: usize, successes: usize, k: usize, of: &dyn Fn(usize) -> bool) -> f64 {
    let ways = |drawn: usize| choose(successes, drawn) * choose(n - successes, k - drawn);
    // A sum of nothing is -0.
    ((0..=k).filter(|drawn| of(*drawn)).map(ways).sum::<f64>() + 0.0) / choose(n, k)
}

fn choose(n: usize, k: usize) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64)
}

/// A share of scenarios with Wilson's score interval.
pub(crate) fn wilson(values: impl Iterator<Item = f64>) -> Share {
    let values: Vec<f64> = values.collect();
    let value = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (low, high) = eog_cases::reliability::wilson(value, values.len());
    Share { value, interval: Interval { low, high } }
}

/// A mean over scenarios with the normal interval.
pub(crate) fn normal(values: impl Iterator<Item = f64>) -> Share {
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let value = values.iter().sum::<f64>() / n;
    if values.len() < 2 {
        // One scenario says nothing about others.
        return Share { value, interval: Interval { low: 0.0, high: 1.0 } };
    }
    let variance = values.iter().map(|v| (v - value).powi(2)).sum::<f64>() / (n - 1.0);
    let spread = Z * (variance / n).sqrt();
    let interval = Interval { low: (value - spread).max(0.0), high: (value + spread).min(1.0) };
    Share { value, interval }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Interval { low, high } = self.interval;
        write!(f, "{:.3} [{low:.3}, {high:.3}]", self.value)
    }
}
