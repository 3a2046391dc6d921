//! How much more observations scatter than the model of one change supposes.
//!
//! Requests fail and lines come in bursts, another stretch of trouble may lie before or after, and
//! a share may rise in steps: observations then carry less information than as many independent ones. What a
//! gap gains in likelihood is therefore divided by the dispersion that is left under the best of
//! them, as in quasi-likelihood (McCullagh and Nelder, *Generalized Linear Models*, 1989, 4.5). The
//! dispersion is Pearson's, over batches of neighbouring observations, so that bursts show (batch
//! means: Law and Kelton, *Simulation Modeling and Analysis*).

use super::Gap;

/// Pearson's statistic over some batches, with its degrees of freedom.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dispersion {
    statistic: f64,
    freedom: f64,
}

impl Dispersion {
    /// Adds the batches of a part with one level: what was counted in each, and what mean and
    /// variance are expected of each.
    pub(super) fn add(&mut self, counts: &[f64], mean: f64, variance: f64) {
        if counts.len() < 2 || variance <= 0.0 {
            return;
        }
        let squares = counts.iter().map(|count| (count - mean) * (count - mean));
        self.statistic += squares.sum::<f64>() / variance;
        self.freedom += counts.len() as f64 - 1.0;
    }

    /// By how much likelihoods are divided: never less than 1, since chance is no knowledge.
    pub(super) fn scale(self) -> f64 {
        if self.freedom > 0.0 { (self.statistic / self.freedom).max(1.0) } else { 1.0 }
    }
}

/// Into how many batches so many observations are cut: as many as each holds.
pub(super) fn batches(observations: usize) -> usize {
    observations.isqrt()
}

/// Weighs gaps by a dispersion.
pub(super) fn temper(gaps: &mut [Gap], dispersion: Dispersion) {
    let scale = dispersion.scale();
    gaps.iter_mut().for_each(|gap| gap.likelihood /= scale);
}

/// The place of the gap that explains all best.
pub(super) fn best(gaps: &[Gap]) -> Option<usize> {
    let usable = gaps.iter().enumerate().filter(|(_, gap)| gap.likelihood.is_finite());
    usable.max_by(|(_, a), (_, b)| a.likelihood.total_cmp(&b.likelihood)).map(|(place, _)| place)
}
