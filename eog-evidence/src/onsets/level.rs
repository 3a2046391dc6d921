//! When a measured level left the usual.

use eog_core::Timestamp;
use eog_core::incident::Onset;

use super::{Gap, interval, seconds};
use crate::shift::Shift;
use crate::stats::scale;

/// The noise is at least this share of the height of a shift: no measurement is exact.
const LEAST_NOISE: f64 = 1e-3;

/// A shift has reached its level at this share of its height. A ramp may end there, and the
/// samples of its plateau are no part of it.
const MOST: f64 = 0.75;

/// When a series left its usual level, for a shift that was found in it.
///
/// Two courses are weighed at each sample: a step to another level, and a ramp that begins there.
/// A ramp thus begins where it leaves the usual, not where it crosses a threshold. Samples from the
/// first to the one that reaches the level of the shift count; what comes later says nothing about
/// the beginning. A sample commonly covers the time since the one before, so that the last usual
/// one may hold a part of the change: the interval reaches back by one sample more. Noise is normal, with the spread of the baseline, or wider where neither course
/// fits. It ends with the first sample of the shift at the latest. Where the shift begins with the first sample there is no onset.
pub fn level_onset(points: &[(Timestamp, f64)], shift: &Shift) -> Option<Onset> {
    let sign = if shift.observed > shift.baseline { 1.0 } else { -1.0 };
    let beyond = |value: f64| sign * (value - shift.baseline);
    let finite = points.iter().filter(|(_, value)| value.is_finite());
    let mut samples: Vec<(Timestamp, f64)> =
        finite.map(|(at, value)| (*at, beyond(*value))).collect();
    let crossed = samples.partition_point(|(at, _)| *at < shift.onset());
    let height = beyond(shift.observed);
    let after = samples.get(crossed..)?;
    let reached = crossed + after.iter().position(|(_, value)| *value >= MOST * height)?;
    samples.truncate(reached + 1);
    let usual: Vec<f64> = samples.iter().take(crossed).map(|(_, value)| *value).collect();
    let spread = if shift.spread > 0.0 { shift.spread } else { scale(&usual)? };
    let floor = spread.max(LEAST_NOISE * height);
    let fits = fits(&samples, shift.limit);
    let best = fits.iter().flat_map(|fit| fit.courses).filter(|course| course.height > 0.0);
    let best = best.min_by(|a, b| a.squares.total_cmp(&b.squares))?;
    let misfit = best.after / (best.count - 1.0).max(1.0);
    let variance = (floor * floor).max(misfit);
    let gaps: Vec<Gap> = fits
        .iter()
        .zip(samples.windows(2))
        .filter_map(|(fit, pair)| {
            let [(from, _), (to, _)] = *pair else { return None };
            let [a, b] = fit.courses.map(|course| course.likelihood(variance));
            let (low, high) = (a.min(b), a.max(b));
            let both =
                if high.is_finite() { high + libm::log1p(libm::exp(low - high)) } else { high };
            Some(Gap { from, to, likelihood: both })
        })
        .collect();
    let onset = interval(&gaps)?;
    // By the first sample of the shift it has begun, whatever course it takes: one that speeds up fits
    // neither.
    let (earliest, latest) =
        (onset.earliest().min(shift.onset()), onset.latest().min(shift.onset()));
    let usual = samples.partition_point(|(at, _)| *at < earliest);
    let before = usual.checked_sub(1).and_then(|place| samples.get(place));
    Some(Onset::between(before.map_or(earliest, |(at, _)| *at), latest))
}

/// How well a change after one sample explains all samples.
struct Fit {
    /// A step, and a ramp.
    courses: [Course; 2],
}

#[derive(Clone, Copy)]
struct Course {
    /// The height that it reaches at the last sample, by least squares.
    height: f64,
    /// How exactly the samples give the height: its variance is that of the noise divided by this.
    weight: f64,
    /// The squares that it leaves: of all samples, and of those after the change.
    squares: f64,
    after: f64,
    /// How many samples come after the change.
    count: f64,
}

impl Course {
    /// The logarithm of the likelihood with the height integrated out, up to a constant.
    fn likelihood(self, variance: f64) -> f64 {
        if self.height <= 0.0 || self.weight <= 0.0 {
            return f64::NEG_INFINITY;
        }
        -self.squares / (2.0 * variance) - 0.5 * libm::log(self.weight)
    }
}

/// Both courses after each sample but the last. Samples before a change count by at most `limit`,
/// so that an excursion long before it does not draw it near.
fn fits(samples: &[(Timestamp, f64)], limit: f64) -> Vec<Fit> {
    let Some((end, _)) = samples.last().copied() else { return Vec::new() };
    let square = |value: f64| value * value;
    let clipped = |value: f64| square(value.clamp(-limit, limit));
    let mut before: f64 = samples.iter().map(|(_, value)| clipped(*value)).sum();
    // Sums over the samples after the change: of 1, x, x², t, t², and x·t, with t the seconds
    // before the last sample.
    let (mut n, mut x, mut xx, mut t, mut tt, mut xt) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    let mut fits = Vec::with_capacity(samples.len());
    for pair in samples.windows(2).rev() {
        let [(from, _), (at, value)] = *pair else { continue };
        let ago = seconds(at, end);
        n += 1.0;
        x += value;
        xx += square(value);
        t += ago;
        tt += square(ago);
        xt += value * ago;
        before -= clipped(value);
        // A ramp that begins halfway between the samples has the shape u = (length - t) / length.
        let length = (seconds(from, end) + ago) / 2.0;
        let shape = (n * square(length) - 2.0 * length * t + tt) / square(length);
        let along = (x * length - xt) / length;
        let course = |weight: f64, along: f64| {
            let height = along / weight;
            let after = (xx - height * along).max(0.0);
            Course { height, weight, squares: before.max(0.0) + after, after, count: n }
        };
        fits.push(Fit { courses: [course(n, x), course(shape, along)] });
    }
    fits.reverse();
    fits
}
