//! When something began to happen more often, or less.

use eog_core::evidence::Trend;
use eog_core::incident::Onset;
use eog_core::{Timestamp, Window};

use super::dispersion::{Dispersion, batches, best, temper};
use super::{Gap, interval, log_gammas, seconds};

/// A gap that is longer than this share of the recording is searched in parts.
const LONG: f64 = 1.0 / 64.0;

/// How many times a long gap is halved towards each of its ends.
const HALVINGS: i32 = 24;

/// Into how many parts each of the halves is cut.
const STEPS: i32 = 4;

/// When the rate of something rose ([`Trend::Rising`]) or fell, from the times at which it happened,
/// in order, within the time that was recorded.
///
/// It happens at random with one unknown rate before the change and another after it. What never
/// happened before began at its first time, or so much earlier that it could have failed to happen
/// at its rate since (95 %): three times in a row at 10 a minute, hardly more than 20 seconds.
/// What comes in bursts is dated less exactly.
/// What began and was over before the recording ends has the rate that it had until it was over.
/// Nothing for what never happened, or is not known to have happened more than once at a rate that
/// rose: a single time says nothing of a rate.
///
/// ```
/// use eog_core::evidence::Trend;
/// use eog_core::{Timestamp, Window};
/// use eog_evidence::rate_onset;
/// let second = |s: i64| Timestamp::from_second(s).unwrap();
/// let lines: Vec<_> = (0..60).map(|n| second(1800 + 2 * n)).collect();
/// let recorded = Window::new(second(0), second(3600))?;
/// let onset = rate_onset(&lines, recorded, Trend::Rising).unwrap();
/// assert_eq!(onset.latest(), second(1800));
/// assert!(onset.earliest() > second(1790));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rate_onset(times: &[Timestamp], recorded: Window, trend: Trend) -> Option<Onset> {
    let (first, last) = (*times.first()?, *times.last()?);
    let start = recorded.start().min(first);
    let rises = match trend {
        Trend::Rising => true,
        Trend::Falling => false,
        Trend::Steady => return None,
    };
    // What rose is measured until it happened last, which then ends its time and does not count.
    let end = if rises { last } else { recorded.end().max(last) };
    let counted = times.partition_point(|at| *at < end);
    if counted == 0 {
        return None;
    }
    let half = log_gammas(0.5, counted);
    let likelihood = |before: usize, at: Timestamp| {
        let (old, new) = (seconds(start, at), seconds(at, end));
        let (low, high) = (before as f64 * new, (counted - before) as f64 * old);
        if old <= 0.0 || new <= 0.0 || (high > low) != rises {
            return f64::NEG_INFINITY;
        }
        let part = |n: usize, seconds: f64| {
            let gamma = half.get(n).copied().unwrap_or(f64::NAN);
            gamma - (n as f64 + 0.5) * libm::log(seconds)
        };
        part(before, old) + part(counted - before, new)
    };
    let inner = times.iter().copied().take(counted);
    let ends = std::iter::once(start).chain(inner).chain([end]);
    let starts: Vec<Timestamp> = ends.clone().collect();
    let long = LONG * seconds(start, end);
    let mut gaps = Vec::with_capacity(counted);
    for (before, (from, to)) in starts.into_iter().zip(ends.skip(1)).enumerate() {
        let is_long = seconds(from, to) > long;
        let bounds = if is_long { parts(from, to) } else { vec![from, to] };
        gaps.extend(bounds.windows(2).filter_map(|pair| {
            let [from, to] = *pair else { return None };
            let middle = from.checked_add(to.duration_since(from) / 2).ok()?;
            Some(Gap { from, to, likelihood: likelihood(before, middle) })
        }));
    }
    let split = gaps.get(best(&gaps)?)?.to;
    let mut dispersion = Dispersion::default();
    let (old, new) = times.split_at(times.partition_point(|at| *at < split).min(counted));
    add_times(&mut dispersion, old, (start, split));
    add_times(&mut dispersion, new.get(..counted - old.len()).unwrap_or_default(), (split, end));
    temper(&mut gaps, dispersion);
    let onset = interval(&gaps)?;
    // Parts of a gap are no observations. What rose had begun when it was seen next; what fell had
    // not when it was seen last.
    let behind = |at: Timestamp| times.partition_point(|time| *time <= at).checked_sub(1);
    let next = times.get(times.partition_point(|time| *time < onset.latest()));
    let last = behind(onset.earliest()).and_then(|place| times.get(place));
    Some(match rises {
        true => Onset::between(onset.earliest(), *next.unwrap_or(&onset.latest())),
        false => Onset::between(*last.unwrap_or(&onset.earliest()), onset.latest()),
    })
}

/// Adds what happens with one rate from one time to another.
fn add_times(dispersion: &mut Dispersion, times: &[Timestamp], (from, to): (Timestamp, Timestamp)) {
    let mut counts = vec![0.0; batches(times.len())];
    let length = seconds(from, to) / counts.len() as f64;
    for at in times {
        // Within the bounds: a quotient of times between them.
        let place = (seconds(from, *at) / length) as usize;
        let last = counts.len().saturating_sub(1);
        if let Some(count) = counts.get_mut(place.min(last)) {
            *count += 1.0;
        }
    }
    let mean = times.len() as f64 / counts.len() as f64;
    dispersion.add(&counts, mean, mean);
}

/// Cuts a gap into parts that are the shorter, the nearer they lie to either end: there the
/// likelihood changes fastest.
fn parts(from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
    let length = to.duration_since(from);
    let halved = |n: i32| length / 2_i32.pow(u32::try_from(n).unwrap_or_default());
    let near_start = (1..=HALVINGS).rev().filter_map(|n| from.checked_add(halved(n)).ok());
    let near_end = (2..=HALVINGS).filter_map(|n| to.checked_sub(halved(n)).ok());
    let halves: Vec<Timestamp> =
        std::iter::once(from).chain(near_start).chain(near_end).chain([to]).collect();
    let mut bounds = vec![from];
    for half in halves.windows(2) {
        let [from, to] = *half else { continue };
        let step = to.duration_since(from) / STEPS;
        bounds.extend((1..STEPS).filter_map(|n| from.checked_add(step * n).ok()));
        bounds.push(to);
    }
    bounds.dedup();
    bounds
}
