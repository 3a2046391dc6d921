//! When an entity first does what it does not usually do, whatever is recorded of it.

use std::collections::BTreeMap;

use eog_core::Timestamp;
use eog_core::evidence::Signal;
use jiff::SignedDuration;

use super::Measured;
use crate::events::EventRecord;
use crate::intervals::Intervals;
use crate::logs::times;
use crate::series::{MIN_BASELINE, Periods, Series};
use crate::shift::{MIN_RELATIVE, find_shift};
use crate::signs::is_harmless;
use crate::stats::{BEYOND_CHANCE, deviation, median};
use crate::text::{rounded, shorten};

/// A series with at most this many different values is a sequence of states, not a measurement.
const MAX_STATES: usize = 8;

/// A series with as many points in the window is measured at intervals: a shift began between two.
const SAMPLED: usize = 10;

/// Steps between the points of a sampled series vary by less than this share.
const UNEVEN: f64 = 0.1;

/// The first time that an entity deviates, and how.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deviation {
    /// When it is first seen.
    pub(super) onset: Timestamp,
    /// When it can have begun at the earliest, and at the latest: measurements are taken at
    /// intervals, and what hangs is noticed only when it should have moved.
    pub(super) between: (Timestamp, Timestamp),
    pub(super) how: How,
    /// Whether it comes from events, or from what was measured.
    pub(super) by_events: bool,
    pub(super) query: String,
    pub(super) text: String,
}

/// How an entity deviates, most significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum How {
    /// A state or event that the baseline does not have at all.
    Novel,
    /// A measured level that shifted.
    Shifted,
    /// A state that lasts longer, or events that come more often, than they ever did.
    Unusual,
}

/// The most significant deviation up to an instant; of several the earliest.
pub(super) fn earliest(
    measured: &Measured<'_>,
    periods: &Periods,
    until: Timestamp,
) -> Option<Deviation> {
    let series = measured.series.iter().filter(|series| is_unspecific(series.signal));
    let series = series.filter_map(|series| of_series(series, periods));
    let events = of_events(measured.events, periods);
    series
        .chain(events)
        .filter(|deviation| deviation.onset <= until)
        .min_by(|a, b| (a.how, a.onset, &a.query).cmp(&(b.how, b.onset, &b.query)))
}

/// Whether a signal leaves open what it means for others. Errors, latency, traffic and failures
/// have rules of their own.
pub(super) fn is_unspecific(signal: Signal) -> bool {
    matches!(signal, Signal::Other | Signal::Output | Signal::Saturation)
}

fn of_series(series: &Series, periods: &Periods) -> Option<Deviation> {
    let query = format!("metric={}", shorten(&series.metric, 120));
    let found = |onset, between, how, text| Deviation {
        onset,
        between,
        how,
        by_events: false,
        query: query.clone(),
        text,
    };
    let name = shorten(&series.metric, 120);
    if let Some(states) = States::of(series, periods) {
        let (onset, latest, how, value) = states.unusual()?;
        let what = match how {
            How::Novel => "a value it does not have in the baseline",
            _ => "for longer than ever in the baseline",
        };
        return Some(found(
            onset,
            (onset, latest),
            how,
            format!("{name} is {}, {what}", rounded(value)),
        ));
    }
    let points = held(series, periods);
    let shift = find_shift(&points, &series.unit, periods)?;
    if series.signal == Signal::Saturation
        && is_harmless(&series.unit, [shift.baseline, shift.observed])
    {
        return None;
    }
    let text = format!("{name} from {} to {}", rounded(shift.baseline), rounded(shift.observed));
    let onset = shift.onset();
    let inside = points.iter().filter(|(at, _)| periods.window.contains(*at));
    let before = inside.clone().rev().find(|(at, _)| *at < onset).map(|(at, _)| *at);
    // What is seldom recorded is recorded when it changes.
    let earliest = before.filter(|_| inside.count() >= SAMPLED).unwrap_or(onset);
    Some(found(onset, (earliest, onset), How::Shifted, text))
}

/// The points of a series; one that is recorded when it changes holds its last value until the end
/// of the window. Its uneven steps, or its end, distinguish it from a sampled one.
fn held(series: &Series, periods: &Periods) -> Vec<(Timestamp, f64)> {
    let mut points = series.points.clone();
    let gap = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64();
    let gaps: Vec<f64> = points
        .windows(2)
        .filter_map(|pair| match pair {
            [a, b] => Some(gap(a.0, b.0)),
            _ => None,
        })
        .collect();
    let end = periods.window.end().checked_sub(SignedDuration::from_secs(1));
    let (Some(step), Some(last), Ok(end)) =
        (median(gaps.iter().copied()), points.last().copied(), end)
    else {
        return points;
    };
    let uneven = gaps.len() > 1 && is_uneven(&series.points);
    if end > last.0 && (uneven || gap(last.0, end) > 2.0 * step) {
        points.push((end, last.1));
    }
    points
}

/// Whether points come when something changes, and not at even steps.
pub(super) fn is_uneven(points: &[(Timestamp, f64)]) -> bool {
    let pairs = points.windows(2);
    let gaps: Vec<f64> = pairs
        .filter_map(|pair| match pair {
            [a, b] => Some(b.0.duration_since(a.0).as_secs_f64()),
            _ => None,
        })
        .collect();
    match median(gaps.iter().copied()) {
        Some(step) if gaps.len() > 1 => {
            deviation(gaps.iter().copied(), step).unwrap_or(0.0) > UNEVEN * step
        }
        _ => true,
    }
}

/// A series of few different values, each held until the next point.
struct States {
    /// For each value, how long each of its completed stays in the baseline lasted.
    usual: BTreeMap<u64, Vec<SignedDuration>>,
    /// Stays that begin in the window: value, begin, length.
    stays: Vec<(f64, Timestamp, SignedDuration)>,
}

impl States {
    /// Nothing when there are too many values for states, or no baseline.
    fn of(series: &Series, periods: &Periods) -> Option<Self> {
        let mut values: Vec<u64> = series.points.iter().map(|(_, value)| bits(*value)).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > MAX_STATES {
            return None;
        }
        // Equal values in a row are one stay.
        let stays: Vec<(Timestamp, f64)> = series
            .points
            .chunk_by(|a, b| bits(a.1) == bits(b.1))
            .filter_map(|stay| stay.first().copied())
            .collect();
        let baseline = periods.usual_time();
        let normal = |at: Timestamp| baseline.contains(at);
        // Broken numbers are measurements: that a new one turns up means nothing.
        let whole = series.points.iter().all(|(_, value)| value.fract() == 0.0);
        let known = series.points.iter().filter(|(at, _)| normal(*at)).count();
        if !whole && known >= MIN_BASELINE {
            return None;
        }
        let mut usual: BTreeMap<u64, Vec<SignedDuration>> = BTreeMap::new();
        let mut unusual = Vec::new();
        for (place, (at, value)) in stays.iter().enumerate() {
            let next = stays.get(place + 1).map(|(next, _)| *next);
            if normal(*at) {
                let lengths = usual.entry(bits(*value)).or_default();
                lengths
                    .extend(next.filter(|next| normal(*next)).map(|next| next.duration_since(*at)));
            } else if periods.window.contains(*at) {
                let end = next.map_or(periods.window.end(), |next| next.min(periods.window.end()));
                unusual.push((*value, *at, end.duration_since(*at)));
            }
        }
        (!usual.is_empty()).then_some(Self { usual, stays: unusual })
    }

    /// The first new value; else the first stay that outlasts twice the longest one known.
    ///
    /// Gives when it began, when it must have begun at the latest, how, and the value.
    fn unusual(&self) -> Option<(Timestamp, Timestamp, How, f64)> {
        let is_known = |value: f64| {
            let near = |known: &u64| {
                let known = f64::from_bits(*known);
                value.fract() != 0.0 && (value - known).abs() <= MIN_RELATIVE * known.abs()
            };
            self.usual.contains_key(&bits(value)) || self.usual.keys().any(near)
        };
        let novel = self.stays.iter().find(|(value, _, _)| !is_known(*value));
        if let Some((value, at, _)) = novel {
            return Some((*at, *at, How::Novel, *value));
        }
        self.stays.iter().find_map(|(value, at, length)| {
            let known =
                self.usual.get(&bits(*value)).filter(|known| known.len() >= MIN_BASELINE)?;
            let longest = *known.iter().max()?;
            let due = at.checked_add(longest).ok()?;
            (*length > longest * 2).then_some((*at, due, How::Unusual, *value))
        })
    }
}

/// Equal numbers have equal bits, both zeros included.
fn bits(value: f64) -> u64 {
    if value == 0.0 { 0.0_f64.to_bits() } else { value.to_bits() }
}

/// Events that the baseline does not have, or that come more often than chance allows.
fn of_events(events: &[EventRecord], periods: &Periods) -> Vec<Deviation> {
    let baseline = periods.usual_time();
    if baseline.is_empty() {
        return Vec::new();
    }
    let mut by_reason: BTreeMap<&str, (usize, Vec<Timestamp>)> = BTreeMap::new();
    for event in events.iter().filter(|event| is_unspecific(event.signal)) {
        let (usual, seen) = by_reason.entry(&event.reason).or_default();
        if baseline.contains(event.time) {
            *usual += 1;
        } else if periods.window.contains(event.time) {
            seen.push(event.time);
        }
    }
    let after_usual = Intervals::from(periods.after_usual(&baseline)).seconds();
    let length = baseline.seconds();
    let judge = |(reason, (usual, seen)): (&str, (usize, Vec<Timestamp>))| {
        let onset = seen.iter().min().copied()?;
        // The number of independent events varies by its square root (Poisson).
        let expected = usual as f64 * after_usual / length.max(1.0);
        let limit = expected + BEYOND_CHANCE * expected.max(1.0).sqrt();
        let how = match usual {
            0 => How::Novel,
            _ if seen.len() as f64 > limit => How::Unusual,
            _ => return None,
        };
        let reason = shorten(reason, 80);
        let count = times(seen.len());
        let text = match how {
            How::Novel => format!("{reason}, {count}: not in the baseline"),
            _ => format!("{reason}, {count} (normally {})", rounded(expected)),
        };
        Some(Deviation {
            onset,
            between: (onset, onset),
            how,
            by_events: true,
            query: format!("reason={reason}"),
            text,
        })
    };
    by_reason.into_iter().filter_map(judge).collect()
}
