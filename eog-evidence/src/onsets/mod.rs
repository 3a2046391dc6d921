//! When something began, dated by its own observations, with a 95 % interval.
//!
//! Each estimator takes what was observed in time order, supposes that one thing changed once (a
//! share, a rate, a level) and weighs every gap between neighbouring observations by how well a
//! change in it explains them all. The levels on both sides are unknown and integrated out under
//! Jeffreys priors; the time of the change is as likely anywhere, so that a gap counts by its
//! length (Smith, *A Bayesian approach to inference about a change-point in a sequence of random
//! variables*, Biometrika 1975; Raftery and Akman, *Bayesian analysis of a Poisson process with a
//! change-point*, Biometrika 1986). Likelihoods of counts are divided by the dispersion that is left,
//! so that bursts and further stretches of trouble widen the interval. It holds the middle 95 % of the weight, and is
//! rounded outwards to observations.
//!
//! An interval says when something began, given that it did: whether it did is for the caller, who
//! found that it shifted.

mod dispersion;
mod level;
mod rate;
mod share;
#[cfg(test)]
mod tests;

use eog_core::Timestamp;
use eog_core::incident::Onset;

pub use level::level_onset;
pub use rate::rate_onset;
pub use share::{counted_share_onset, share_onset};

/// How much of the weight lies outside of an interval on either side.
const TAIL: f64 = 0.025;

/// A gap between neighbouring observations, and how well a change in it explains all of them.
#[derive(Clone, Copy, Debug)]
struct Gap {
    from: Timestamp,
    to: Timestamp,
    /// The logarithm of the likelihood, up to a constant that all gaps share.
    likelihood: f64,
}

/// The interval that holds the middle 95 % of the weight of some gaps, which are in time order.
fn interval(gaps: &[Gap]) -> Option<Onset> {
    let usable = |gap: &&Gap| gap.likelihood.is_finite();
    let best = gaps.iter().filter(usable).map(|gap| gap.likelihood).reduce(f64::max)?;
    let weights: Vec<f64> =
        gaps.iter().map(|gap| length(gap) * libm::exp(gap.likelihood - best)).collect();
    let total: f64 = weights.iter().sum();
    // The first gap at which so much weight is behind.
    let at = |share: f64| {
        let mut behind = 0.0;
        let place = weights.iter().position(|weight| {
            behind += weight;
            behind > share * total
        });
        gaps.get(place?)
    };
    Some(Onset::between(at(TAIL)?.from, at(1.0 - TAIL)?.to))
}

/// Seconds of a gap. Observations of the same instant leave a nanosecond.
fn length(gap: &Gap) -> f64 {
    seconds(gap.from, gap.to).max(1e-9)
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

/// `ln Γ(n + offset)` for every `n` up to a count, up to a constant.
fn log_gammas(offset: f64, count: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let mut table = Vec::with_capacity(count + 1);
    for n in 0..=count {
        table.push(sum);
        sum += libm::log(n as f64 + offset);
    }
    table
}
