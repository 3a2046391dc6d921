//! Shifts of a series against its baseline.

use std::collections::BTreeSet;

use eog_core::evidence::{EvidenceTime, FindingContent, PeerRole, Quantity, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{Finding, Timestamp, Window};
use jiff::SignedDuration;

use crate::onsets::level_onset;
use crate::series::{MIN_BASELINE, Parts, Periods, Series};
use crate::signs::NEARLY_FULL;
use crate::stats::{MAD_TO_SIGMA, deviation, mean, median, quantile, rates_differ};
use crate::text::{in_unit, is_named_by, rounded, shorten};

/// A point deviates when it is beyond chance, and by this share of the baseline.
pub(crate) const MIN_RELATIVE: f64 = 0.10;

/// Ratios must move by this much at least, whatever their noise.
const MIN_RATIO_STEP: f64 = 0.01;

/// From how many times the usual on a change is given as such: a percentage of so many digits says nothing to people.
const MANY_TIMES: f64 = 200.0;

/// Beyond how many times the usual the number itself says nothing any more: the usual is next to nothing.
const MOST_TIMES: f64 = 10_000.0;

/// Fewest points at a limit.
const MIN_AT_A_LIMIT: usize = 3;

/// At a limit, the use of a resource varies so many times less than before, or even less.
const LESS_VARIED: f64 = 10.0;

/// Fewest deviating points in a row that make a shift.
pub(crate) const MIN_RUN: usize = 2;

/// The shift of a series in the incident, or nothing when it did not shift or has too few points.
///
/// With `m` the median of the baseline and `s = 1.4826 · MAD` its robust spread, a point `x` of
/// the incident part deviates when `|x − m|` exceeds `t s`, `0.1 |m|`, and for a unit of `ratio`
/// 0.01, for `percent` or `%` 1. Of a long baseline `t` is 4; of a short one, which estimates its spread badly, it is the
/// quantile of Student's t that is as rare. A shift is the longest run of at least 2 deviating points in one
/// direction (of equal runs the first). The finding's time is the run; its quantity is the median
/// of the run against `m`; its trend the direction. The use of a processor in cores that has come to a limit is given as a
/// ratio instead, 1 against `m` over the median: it varied before, and over 3 points or more its range is less than a
/// tenth of `s`, both relative to their level. A baseline has at least 5 points; [`Periods`]
/// says where it is taken from. The finding's onset is when the series left its usual level, as an
/// interval: a ramp left it before its run begins.
///
/// `source` and `query` are recorded as they are.
///
/// ```
/// use eog_core::{EntityId, EvidenceKind, Timestamp, Window};
/// use eog_core::evidence::{Signal, Trend};
/// use eog_evidence::{Periods, Series, shift_finding};
/// let minute = |m: i64| Timestamp::from_second(m * 60).unwrap();
/// let series = Series {
///     entity: EntityId::new("cart")?,
///     kind: EvidenceKind::Metric,
///     metric: "requests".into(),
///     signal: Signal::Traffic,
///     unit: "1/s".into(),
///     peer: None,
///     points: (0..30).map(|m| (minute(m), if m < 20 { 100.0 } else { 130.0 })).collect(),
/// };
/// let periods = Periods::new(Window::new(minute(15), minute(30))?);
/// let finding = shift_finding(&series, &periods, "metrics.csv", "metric=requests").unwrap();
/// assert_eq!(finding.trend, Trend::Rising);
/// assert_eq!(finding.time.start(), minute(20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shift_finding(
    series: &Series,
    periods: &Periods,
    source: &str,
    query: &str,
) -> Option<Finding> {
    let shift = shift_of(series, periods)?;
    let onset = level_onset(&series.points, &shift);
    Some(finding_of_shift(series, &shift, onset, source, query))
}

/// The finding on a shift, with the onset that is known of it.
pub(crate) fn finding_of_shift(
    series: &Series,
    shift: &Shift,
    onset: Option<Onset>,
    source: &str,
    query: &str,
) -> Finding {
    let (time, levels) = ((shift.onset(), shift.last()), (shift.observed, shift.baseline));
    let finding = finding(series, shift.trend(), time, levels, onset, source, query);
    if !is_at_a_limit(series, shift) {
        return finding;
    }
    let mut content = finding.content().clone();
    let usual = Some(shift.baseline / shift.observed);
    content.quantity = Some(Quantity { observed: 1.0, baseline: usual, unit: "ratio".into() });
    content.excerpt.push_str(", where it stays: all there is seems to be in use");
    Finding::new(content)
}

/// Whether the use of a processor has come to a limit that is not declared: it varied before, and is the same since. Nothing
/// is beyond a limit. Points that repeat one measurement say nothing about how it varies.
pub(crate) fn is_at_a_limit(series: &Series, shift: &Shift) -> bool {
    let is_open = series.signal == Signal::Saturation
        && is_unit_of_processors(&series.unit)
        && shift.trend() == Trend::Rising
        && shift.baseline > 0.0
        && shift.run.len() >= MIN_AT_A_LIMIT;
    let before = series.points.iter().filter(|(at, _)| *at < shift.onset());
    let before: Vec<f64> = before.map(|(_, value)| *value).collect();
    let is_repeated = || before.windows(MIN_AT_A_LIMIT).any(all_equal);
    let values = || shift.run.iter().map(|(_, value)| *value);
    let range = || values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min);
    is_open
        && LESS_VARIED * range() / shift.observed < shift.spread / shift.baseline
        && !is_repeated()
}

fn all_equal(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair.first() == pair.last())
}

/// Whether a unit counts processors, whole or in thousandths.
fn is_unit_of_processors(unit: &str) -> bool {
    let unit = unit.to_ascii_lowercase();
    matches!(unit.as_str(), "core" | "cores" | "cpu" | "cpus" | "vcpu" | "vcpus")
        || matches!(unit.as_str(), "millicore" | "millicores" | "mcores" | "mcpu")
}

/// How a series shifted: what [`shift_finding`] says, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    /// The median of the baseline.
    pub baseline: f64,
    /// The robust spread of the baseline, `1.4826 · MAD`.
    pub spread: f64,
    /// A point deviates when it is further than this from the baseline.
    pub limit: f64,
    /// The median of the run.
    pub observed: f64,
    /// The longest run of deviating points in one direction, never empty. It begins where the
    /// series crossed the limit.
    pub run: Vec<(Timestamp, f64)>,
    /// How many points deviate in the whole incident part, those of the run among them.
    pub deviating: usize,
}

impl Shift {
    /// When the run began: when the limit was crossed. A ramp began earlier.
    pub fn onset(&self) -> Timestamp {
        self.run.first().map_or(Timestamp::MIN, |point| point.0)
    }

    /// The last point of the run.
    pub fn last(&self) -> Timestamp {
        self.run.last().map_or(Timestamp::MIN, |point| point.0)
    }

    /// Up or down.
    pub fn trend(&self) -> Trend {
        if self.observed > self.baseline { Trend::Rising } else { Trend::Falling }
    }
}

/// The shift of measured points in the incident, by the rules of [`shift_finding`], or nothing
/// when they did not shift or are too few.
///
/// ```
/// use eog_core::{Timestamp, Window};
/// use eog_evidence::{Periods, find_shift};
/// let minute = |m: i64| Timestamp::from_second(m * 60).unwrap();
/// let points: Vec<_> = (0..30).map(|m| (minute(m), if m < 20 { 7.0 } else { 9.0 })).collect();
/// let periods = Periods::new(Window::new(minute(15), minute(30))?);
/// let shift = find_shift(&points, "ms", &periods).unwrap();
/// assert_eq!((shift.onset(), shift.baseline, shift.observed), (minute(20), 7.0, 9.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find_shift(points: &[(Timestamp, f64)], unit: &str, periods: &Periods) -> Option<Shift> {
    let parts = periods.cut(points)?;
    let usual = Usual::of(&parts.baseline, unit)?;
    shift_from(&usual, &parts)
}

fn shift_from(usual: &Usual, parts: &Parts) -> Option<Shift> {
    let &Usual { centre, spread, limit } = usual;
    let incident = &parts.incident;
    let side = |value: f64| {
        let distance = value - centre;
        if distance.abs() <= limit {
            0
        } else if distance > 0.0 {
            1
        } else {
            -1
        }
    };
    let runs = incident.chunk_by(|a, b| side(a.1) == side(b.1));
    let runs = runs
        .filter(|run| run.len() >= MIN_RUN && run.first().is_some_and(|first| side(first.1) != 0));
    // `max_by_key` keeps the last of equals; the first is wanted.
    let run = runs.rev().max_by_key(|run| run.len())?.to_vec();
    let observed = median(run.iter().map(|(_, value)| *value))?;
    Some(Shift {
        baseline: centre,
        spread,
        limit,
        observed,
        deviating: incident.iter().filter(|(_, value)| side(*value) != 0).count(),
        run,
    })
}

/// The shift of a series, as [`find_shift`] finds it. Where requests or failures are counted, the counts must also
/// differ by more than the chance of counting ([`rates_differ`]): of what comes seldom, two in a row are no shift.
pub fn shift_of(series: &Series, periods: &Periods) -> Option<Shift> {
    if !is_counted(series) {
        return find_shift(&series.points, &series.unit, periods);
    }
    let parts = periods.cut(&series.points)?;
    let shift = shift_from(&Usual::of_counts(&parts.baseline)?, &parts)?;
    let before = parts.baseline;
    let count = |points: &[(Timestamp, f64)]| {
        (points.iter().map(|(_, count)| count).sum::<f64>(), points.len() as f64)
    };
    rates_differ(count(&before), count(&shift.run)).then_some(shift)
}

/// Whether what is measured in a unit is a share of something.
pub(crate) fn is_unit_of_shares(unit: &str) -> bool {
    matches!(unit, "ratio" | "percent" | "%")
}

/// Whether what is measured in a unit is a rate over time.
pub(crate) fn is_unit_of_rates(unit: &str) -> bool {
    unit.contains('/') || matches!(unit, "rps" | "rpm" | "qps" | "Hz")
}

/// Whether a series holds counts of requests or failures, one for each step.
fn is_counted(series: &Series) -> bool {
    let is_count = !is_unit_of_rates(&series.unit) && !is_unit_of_shares(&series.unit);
    let counts = matches!(series.signal, Signal::Errors | Signal::Traffic) && is_count;
    let mut finite = series.points.iter().filter(|(_, value)| value.is_finite());
    counts && finite.all(|(_, value)| *value >= 0.0 && value.fract() == 0.0)
}

/// What counts as usual by a baseline.
pub(crate) struct Usual {
    pub(crate) centre: f64,
    spread: f64,
    pub(crate) limit: f64,
}

impl Usual {
    pub(crate) fn of(baseline: &[(Timestamp, f64)], unit: &str) -> Option<Self> {
        let normal = || baseline.iter().map(|(_, value)| *value);
        let centre = median(normal())?;
        let spread = MAD_TO_SIGMA * deviation(normal(), centre)?;
        let sigmas = quantile(baseline.len() as f64 - 1.0);
        let limit = (sigmas * spread).max(MIN_RELATIVE * centre.abs()).max(step(unit));
        Some(Self { centre, spread, limit })
    }

    /// The same for counts, which spread by chance at least as the law of Poisson says.
    fn of_counts(baseline: &[(Timestamp, f64)]) -> Option<Self> {
        let usual = Self::of(baseline, "")?;
        let counts: Vec<f64> = baseline.iter().map(|(_, count)| *count).collect();
        let spread = usual.spread.max(mean(&counts).sqrt());
        let limit = usual.limit.max(quantile(counts.len() as f64 - 1.0) * spread);
        Some(Self { spread, limit, ..usual })
    }
}

/// The level of a series that did *not* shift, or nothing when it did or has too few points.
///
/// Says that something was checked and found as usual. Time: the incident part.
pub fn steady_finding(
    series: &Series,
    periods: &Periods,
    source: &str,
    query: &str,
) -> Option<Finding> {
    if shift_of(series, periods).is_some() {
        return None;
    }
    level_finding(series, periods, source, query)
}

/// As [`steady_finding`], of a series that is known not to have shifted.
pub(crate) fn level_finding(
    series: &Series,
    periods: &Periods,
    source: &str,
    query: &str,
) -> Option<Finding> {
    let parts = periods.cut(&series.points)?;
    if series.signal == Signal::Other && is_switched(&series.points, &parts.incident) {
        return None;
    }
    let baseline = median(parts.baseline.iter().map(|(_, value)| *value))?;
    let observed = median(parts.incident.iter().map(|(_, value)| *value))?;
    let ends = (parts.incident.first()?.0, parts.incident.last()?.0);
    Some(finding(series, Trend::Steady, ends, (observed, baseline), None, source, query))
}

/// Whether a series has but two values and takes both in the window: a switch has no level between them.
fn is_switched(all: &[(Timestamp, f64)], inside: &[(Timestamp, f64)]) -> bool {
    let values = |points: &[(Timestamp, f64)]| {
        points.iter().map(|(_, value)| value.to_bits()).collect::<BTreeSet<u64>>().len()
    };
    values(inside) == 2 && values(all) == 2
}

/// That a resource is nearly full where nothing earlier is known of it, or nothing: the median of at least
/// 5 points of the window is a share of 0.8 or more, and too few points came before to compare it with.
/// Only for a share (`ratio`, `percent`, `%`) of [`Signal::Saturation`]. It does not say since when, and the
/// quantity has no baseline.
pub fn full_finding(
    series: &Series,
    periods: &Periods,
    source: &str,
    query: &str,
) -> Option<Finding> {
    if periods.cut(&series.points).is_some() {
        return None;
    }
    let inside: Vec<(Timestamp, f64)> = series
        .points
        .iter()
        .copied()
        .filter(|(at, value)| periods.window.contains(*at) && value.is_finite())
        .collect();
    let observed = median(inside.iter().map(|(_, value)| *value))?;
    let ends = (inside.first()?.0, inside.last()?.0);
    let whole = if series.unit == "ratio" { 1.0 } else { 100.0 };
    let is_share = is_unit_of_shares(&series.unit);
    let is_share = is_share && series.signal == Signal::Saturation;
    if !is_share || inside.len() < MIN_BASELINE || observed < NEARLY_FULL * whole {
        return None;
    }
    let mut content =
        finding(series, Trend::Steady, ends, (observed, observed), None, source, query)
            .content()
            .clone();
    content.quantity = content.quantity.map(|quantity| Quantity { baseline: None, ..quantity });
    content.excerpt = format!(
        "{} at {} %; no earlier data",
        shorten(&series.metric, 120),
        rounded(100.0 * observed / whole)
    );
    Some(Finding::new(content))
}

/// The level of a series in the window, the median, where too little came before to compare it with. Shown in
/// answers to queries alone: it is no sign of harm or health.
pub(crate) fn window_level(
    series: &Series,
    periods: &Periods,
    source: &str,
    query: &str,
) -> Option<Finding> {
    let is_inside =
        |(at, value): &&(Timestamp, f64)| periods.window.contains(*at) && value.is_finite();
    let inside: Vec<&(Timestamp, f64)> = series.points.iter().filter(is_inside).collect();
    let observed = median(inside.iter().map(|(_, value)| *value))?;
    let ends = (inside.first()?.0, inside.last()?.0);
    let level = finding(series, Trend::Steady, ends, (observed, observed), None, source, query);
    let mut content = level.content().clone();
    content.quantity = content.quantity.map(|quantity| Quantity { baseline: None, ..quantity });
    content.excerpt = format!(
        "{} {} {} (median); no earlier data",
        shorten(&series.metric, 120),
        rounded(observed),
        series.unit
    );
    Some(Finding::new(content))
}

fn step(unit: &str) -> f64 {
    match unit {
        "ratio" => MIN_RATIO_STEP,
        "percent" | "%" => 100.0 * MIN_RATIO_STEP,
        _ => 0.0,
    }
}

fn finding(
    series: &Series,
    trend: Trend,
    (first, last): (Timestamp, Timestamp),
    (observed, baseline): (f64, f64),
    onset: Option<Onset>,
    source: &str,
    query: &str,
) -> Finding {
    Finding::new(FindingContent {
        entity: series.entity.clone(),
        kind: series.kind,
        signal: series.signal,
        trend,
        time: during(first, last),
        quantity: Some(Quantity { observed, baseline: Some(baseline), unit: series.unit.clone() }),
        change: None,
        peer: series.peer.clone(),
        source: source.to_owned(),
        query: query.to_owned(),
        excerpt: excerpt(series, trend, observed, baseline),
        onset,
    })
}

/// From the first instant to just after the last.
pub(crate) fn during(first: Timestamp, last: Timestamp) -> EvidenceTime {
    let end = last.checked_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX);
    Window::new(first, end).map_or(EvidenceTime::At(first), EvidenceTime::During)
}

fn excerpt(series: &Series, trend: Trend, observed: f64, baseline: f64) -> String {
    let name = shorten(&series.metric, 120);
    let relation = series.peer.as_ref().map_or_else(String::new, |peer| match peer.role {
        PeerRole::Caller => format!(" from {}", peer.entity),
        PeerRole::Callee => format!(" to {}", peer.entity),
        _ => format!(" with {}", peer.entity),
    });
    // A share is shown in percent, whether the whole is 1 or 100.
    let is_share = is_unit_of_shares(&series.unit);
    let unit = match (is_share, is_named_by(&name, &series.unit)) {
        (true, _) => " %".to_owned(),
        (false, true) => String::new(),
        (false, false) if series.unit.is_empty() || series.unit == "bytes" => String::new(),
        (false, false) => format!(" {}", shorten(&series.unit, 40)),
    };
    let whole = if series.unit == "ratio" { 100.0 } else { 1.0 };
    let shown = |value: f64| match series.unit.as_str() {
        "bytes" => in_unit(value, "bytes"),
        _ => rounded(value * whole),
    };
    let (now, before) = (shown(observed), shown(baseline));
    match trend {
        Trend::Steady => format!("{name}{relation} steady at {now}{unit}"),
        // A relative change of a share would be a percentage of a percentage.
        Trend::Rising | Trend::Falling if is_share => {
            format!("{name}{relation} from {before}{unit} to {now}{unit}")
        }
        Trend::Rising | Trend::Falling => {
            let share = relative(observed, baseline);
            format!("{name}{relation} from {before} to {now}{unit}{share}")
        }
    }
}

/// The relative change in words, such as ` (+30 %)` or ` (220 times as much)`; empty without a usable baseline.
fn relative(observed: f64, baseline: f64) -> String {
    let share = (observed - baseline) / baseline.abs() * 100.0;
    let times = observed / baseline;
    if !share.is_finite() {
        String::new()
    } else if times > MOST_TIMES {
        " (more than 10,000 times as much)".to_owned()
    } else if times >= MANY_TIMES {
        format!(" ({times:.0} times as much)")
    } else if share.abs() < 100.0 * MOST_TIMES {
        format!(" ({share:+.0} %)")
    } else {
        // From one side of nothing far to the other: neither a share nor a multiple.
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eog_core::evidence::Signal;
    use eog_core::{EntityId, EvidenceKind};

    fn at(minute: usize) -> Timestamp {
        Timestamp::from_second(minute as i64 * 60).unwrap()
    }

    #[test]
    fn a_change_is_given_in_percent_then_in_times_then_as_more_than_these() {
        for (observed, expected) in [
            (130.0, " (+30 %)"),
            (70.0, " (-30 %)"),
            (19_900.0, " (+19800 %)"),
            (20_000.0, " (200 times as much)"),
            (1_000_000.0, " (10000 times as much)"),
            (1_000_100.0, " (more than 10,000 times as much)"),
            (1e300, " (more than 10,000 times as much)"),
            (-1_000_100.0, ""),
        ] {
            assert_eq!(relative(observed, 100.0), expected, "{observed}");
        }
        assert_eq!(relative(1.0, 0.0), "");
        assert_eq!(relative(-20_000.0, -100.0), " (200 times as much)");
    }

    #[test]
    fn a_resource_that_varies_no_more_is_at_its_limit() {
        let before = [1.05, 1.1, 1.15, 1.08, 1.12, 1.06, 1.14, 1.09, 1.11, 1.07, 1.13, 1.1];
        let excerpt = |unit: &str, after: &[f64]| {
            let mut series = series(unit, &[&before[..], after].concat());
            series.signal = Signal::Saturation;
            let periods = Periods::new(Window::new(at(12), at(20)).unwrap());
            shift_finding(&series, &periods, "metrics.csv", "m").map(|finding| {
                let used = finding.quantity.clone().unwrap();
                (used.unit, rounded(used.observed), rounded(used.baseline.unwrap()))
            })
        };
        let all = Some(("ratio".to_owned(), "1".to_owned(), "0.55".to_owned()));
        let of_what_it_was = |unit: &str| Some((unit.to_owned(), "2".to_owned(), "1.1".to_owned()));
        assert_eq!(excerpt("cores", &[2.0; 4]), all);
        assert_eq!(excerpt("cores", &[2.0; 2]), of_what_it_was("cores"), "too short to decide");
        assert_eq!(
            excerpt("cores", &[2.1, 1.9, 2.2, 1.95, 2.0]),
            of_what_it_was("cores"),
            "it varies"
        );
        assert_eq!(excerpt("cores", &[2.0, 2.0, 5.0]), of_what_it_was("cores"), "more was used");
        // Memory, threads and open files that were taken stay taken.
        assert_eq!(excerpt("GiB", &[2.0; 4]), of_what_it_was("GiB"));
        assert_eq!(excerpt("", &[2.0; 4]), of_what_it_was(""));
        // Points that repeat one measurement.
        let repeated = before.map(|value| [value; 3]).concat();
        let mut series = series("cores", &[&repeated[..], &[2.0; 4]].concat());
        series.signal = Signal::Saturation;
        let periods = Periods::new(Window::new(at(36), at(44)).unwrap());
        let shift = shift_of(&series, &periods).unwrap();
        assert!(!is_at_a_limit(&series, &shift));
    }

    fn series(unit: &str, values: &[f64]) -> Series {
        Series {
            entity: EntityId::new("cart").unwrap(),
            kind: EvidenceKind::Metric,
            metric: "m".into(),
            signal: Signal::Latency,
            unit: unit.into(),
            peer: None,
            points: values.iter().enumerate().map(|(i, value)| (at(i), *value)).collect(),
        }
    }

    /// `value` at each of `count` minutes, then the given incident.
    fn after(count: usize, value: f64, incident: &[f64]) -> Vec<f64> {
        std::iter::repeat_n(value, count).chain(incident.iter().copied()).collect()
    }

    fn shift(unit: &str, values: &[f64], periods: &Periods) -> String {
        let series = series(unit, values);
        let moved = shift_finding(&series, periods, "metrics.csv", "q");
        let still = steady_finding(&series, periods, "metrics.csv", "q");
        assert!(moved.is_none() || still.is_none());
        let minute = |at: Timestamp| at.as_second() / 60;
        match moved.or(still) {
            Some(f) => format!("{:?} from {}: {}", f.trend, minute(f.time.start()), f.excerpt),
            None => "nothing".into(),
        }
    }

    #[test]
    fn shifts_against_the_part_before_the_window() {
        let periods = Periods::new(Window::new(at(10), at(20)).unwrap());
        let noisy = [10.0, 14.0, 6.0, 10.0, 13.0, 7.0, 10.0, 12.0, 8.0, 10.0, 18.0, 18.0];
        let cases = [
            (
                "ms",
                after(10, 100.0, &[100.0, 118.0, 118.0]),
                "Rising from 11: m from 100 to 118 ms (+18 %)",
            ),
            (
                "ms",
                after(10, 100.0, &[50.0, 40.0, 60.0, 100.0]),
                "Falling from 10: m from 100 to 50 ms (-50 %)",
            ),
            // A lone spike, a small step, noise as wide as the step.
            ("ms", after(10, 100.0, &[900.0, 100.0, 100.0]), "Steady from 10: m steady at 100 ms"),
            ("ms", after(10, 100.0, &[109.0, 109.0, 109.0]), "Steady from 10: m steady at 109 ms"),
            ("ms", noisy.to_vec(), "Steady from 10: m steady at 18 ms"),
            // From nothing: no share can be given; a ratio must move by a hundredth.
            ("1/s", after(10, 0.0, &[0.5, 0.5]), "Rising from 10: m from 0 to 0.5 1/s"),
            ("ratio", after(10, 0.0, &[0.009, 0.009]), "Steady from 10: m steady at 0.9 %"),
            ("ratio", after(10, 0.0, &[0.02, 0.02]), "Rising from 10: m from 0 % to 2 %"),
            // The longest run counts, not the first.
            (
                "ms",
                after(10, 100.0, &[200.0, 200.0, 100.0, 300.0, 300.0, 300.0]),
                "Rising from 13: m from 100 to 300 ms (+200 %)",
            ),
            (
                "ms",
                after(10, 100.0, &[f64::NAN, 200.0, 200.0]),
                "Rising from 11: m from 100 to 200 ms (+100 %)",
            ),
            ("ms", after(4, 100.0, &[]), "nothing"),
            ("ms", after(10, 100.0, &[]), "nothing"),
            ("ms", vec![], "nothing"),
        ];
        for (unit, values, expected) in cases {
            assert_eq!(shift(unit, &values, &periods), expected, "{values:?}");
        }
    }

    #[test]
    fn what_is_counted_shifts_by_more_than_the_chance_of_counting() {
        let periods = Periods::new(Window::new(at(20), at(40)).unwrap());
        let counted = |signal, unit: &str, now: f64| {
            // One in ten minutes, as a rule.
            let before = (0..20).map(|minute| f64::from(u8::from(minute % 10 == 0)));
            let values: Vec<f64> = before.chain([now; 2]).collect();
            shift_of(&Series { signal, ..series(unit, &values) }, &periods).is_some()
        };
        assert!(!counted(Signal::Errors, "requests", 1.0), "two in a row");
        assert!(counted(Signal::Errors, "requests", 9.0));
        assert!(!counted(Signal::Traffic, "requests", 1.0));
        // Neither rates nor shares are counts.
        assert!(counted(Signal::Errors, "1/s", 0.5));
        assert!(counted(Signal::Errors, "1/s", 1.0), "of whatever value");
        assert!(counted(Signal::Errors, "ratio", 1.0));
        assert!(counted(Signal::Saturation, "messages", 1.0));
    }

    #[test]
    fn a_shift_of_counts_begins_beyond_the_chance_of_counting() {
        let periods = Periods::new(Window::new(at(20), at(40)).unwrap());
        let begins = |unit: &str| {
            // None or one a minute, then one by chance, then many.
            let before = (0..20).map(|minute| f64::from(u8::from(minute % 3 == 0)));
            let values: Vec<f64> = before.chain([1.0, 1.0, 7.0, 18.0, 31.0]).collect();
            let failures = Series { signal: Signal::Errors, ..series(unit, &values) };
            shift_of(&failures, &periods).unwrap().onset()
        };
        assert_eq!(begins("requests"), at(22));
        assert_eq!(begins("1/min"), at(20), "of rates nothing is known of the chance");
    }

    #[test]
    fn a_short_baseline_tells_its_spread_badly() {
        let noise = [100.0, 104.0, 96.0, 102.0, 99.0, 101.0];
        let shifts = |count: usize, now: f64| {
            let values = noise.iter().copied().cycle().take(count).chain([now; 3]);
            let periods = Periods::new(Window::new(at(count), at(count + 3)).unwrap());
            find_shift(&(0..).map(at).zip(values).collect::<Vec<_>>(), "ms", &periods).is_some()
        };
        assert!(shifts(60, 116.0));
        assert!(!shifts(6, 116.0), "six points");
        assert!(shifts(6, 150.0));
    }

    #[test]
    fn what_is_nearly_full_is_found_where_nothing_is_known_of_before() {
        let periods = Periods::new(Window::new(at(0), at(20)).unwrap());
        let full = |signal, unit: &str, values: &[f64]| {
            let series = Series { signal, ..series(unit, values) };
            let found = full_finding(&series, &periods, "metrics.csv", "q");
            found.map_or_else(|| "nothing".to_owned(), |finding| finding.excerpt.clone())
        };
        let saturation = Signal::Saturation;
        let expected = "m at 97 %; no earlier data";
        assert_eq!(full(saturation, "ratio", &[0.97; 5]), expected);
        let expected = "m at 97 %; no earlier data";
        assert_eq!(full(saturation, "%", &[97.0; 5]), expected);
        for (signal, unit, values) in [
            (saturation, "ratio", &[0.97; 4][..]),
            (saturation, "ratio", &[0.79; 9]),
            (saturation, "bytes", &[0.97; 9]),
            (Signal::Errors, "ratio", &[0.97; 9]),
        ] {
            assert_eq!(full(signal, unit, values), "nothing", "{signal:?} {unit} {values:?}");
        }
        let later = Periods::new(Window::new(at(6), at(20)).unwrap());
        let series = Series { signal: saturation, ..series("ratio", &[0.97; 12]) };
        assert_eq!(full_finding(&series, &later, "metrics.csv", "q"), None, "as usual");
        let finding = full_finding(&series, &periods, "metrics.csv", "q").unwrap();
        assert!(crate::signs::is_worse(&finding) && finding.onset.is_none());
    }

    #[test]
    fn the_baseline_is_given_or_before_the_window_or_before_the_first_onset() {
        let window = Window::new(at(2), at(20)).unwrap();
        let plain = Periods::new(window);
        let values = after(10, 100.0, &[200.0, 200.0, 200.0]);
        assert_eq!(shift("ms", &values, &plain), "nothing");
        let onset = Periods { first_onset: Some(at(11)), ..plain.clone() };
        assert_eq!(shift("ms", &values, &onset), "Rising from 11: m from 100 to 200 ms (+100 %)");
        // An alert at the last point, with two that stand out before it.
        let alerted = Periods { first_onset: Some(at(12)), ..plain.clone() };
        assert_eq!(shift("ms", &values, &alerted), "Steady from 12: m steady at 200 ms");
        let late = Periods { usual_until: Some(at(8)), ..alerted.clone() };
        assert_eq!(shift("ms", &values, &late), "Rising from 10: m from 100 to 200 ms (+100 %)");
        let too_late = Periods { usual_until: Some(at(4)), ..onset.clone() };
        assert_eq!(shift("ms", &values, &too_late), shift("ms", &values, &onset), "few points");
        let given = Periods { baseline: Window::new(at(0), at(8)).ok().into(), ..plain.clone() };
        assert_eq!(shift("ms", &values, &given), "Rising from 10: m from 100 to 200 ms (+100 %)");
    }
}
