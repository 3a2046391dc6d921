//! What an entity has too much of at each step: time spent, or requests failed.

use std::collections::BTreeMap;

use eog_core::Timestamp;
use eog_core::evidence::Signal;
use jiff::SignedDuration;

use super::{Kind, Measured};
use crate::series::{MIN_BASELINE, Periods, Series};
use crate::shift::{MIN_RELATIVE, MIN_RUN, is_unit_of_rates};
use crate::stats::{USUAL_PERCENT, mean, median, percentile, quantile, scale};

/// A limit is 4 σ of noise: what exceeds it by 2 σ more is seen, whatever the noise does.
const SURELY: f64 = 1.5;

/// Whether a burden counts calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Multiplied by the number of calls where that is measured.
    Calls,
    /// Per call.
    None,
}

/// What is known of one entity on one account.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Account {
    /// Measured, with what it has too much of.
    Burden(Burden),
    /// Known to have nothing too much: not called in the window, or never before it. Who begins to
    /// call what was never called has changed, not what is called.
    Usual,
    /// Not measured.
    Unknown,
}

/// What one entity has too much of, step by step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Burden {
    pub(super) metric: String,
    pub(super) unit: String,
    pub(super) weight: Weight,
    /// At each time of measurement, in `unit` (times calls): below zero when less than usual.
    points: Vec<(Timestamp, f64)>,
    /// What a point must exceed to stand out.
    limit: f64,
    step: SignedDuration,
    /// Median level of the baseline, in `unit` per call.
    pub(super) usual: f64,
    /// Median level of the points that stand out, else of all.
    pub(super) observed: f64,
}

impl Burden {
    /// All that is too much.
    pub(super) fn total(&self) -> f64 {
        self.points.iter().map(|(_, excess)| excess.max(0.0)).sum()
    }

    /// What a point must exceed to stand out.
    pub(super) fn limit(&self) -> f64 {
        self.limit
    }

    pub(super) fn step(&self) -> SignedDuration {
        self.step
    }

    /// The first of at least two points in a row that exceed the limit.
    pub(super) fn onset(&self) -> Option<Timestamp> {
        let high = |point: &(Timestamp, f64)| point.1 > self.limit;
        let runs = self.points.chunk_by(|a, b| high(a) == high(b));
        let run =
            runs.into_iter().find(|run| run.len() >= MIN_RUN && run.first().is_some_and(high));
        run.and_then(|run| run.first()).map(|point| point.0)
    }

    /// The beginning of the run of points beyond the limit in which most is too much. Where little is
    /// counted, a short run before the trouble is chance.
    fn peak_onset(&self) -> Option<Timestamp> {
        let high = |point: &(Timestamp, f64)| point.1 > self.limit;
        let runs = self.points.chunk_by(|a, b| high(a) == high(b));
        let runs = runs.filter(|run| run.len() >= MIN_RUN && run.first().is_some_and(high));
        let size = |run: &[(Timestamp, f64)]| run.iter().map(|point| point.1).sum::<f64>();
        // `max_by` keeps the last of equals; the first is wanted.
        let greatest = runs.rev().max_by(|a, b| size(a).total_cmp(&size(b)))?;
        greatest.first().map(|point| point.0)
    }

    /// Whether it is more than chance: it has an onset.
    pub(super) fn stands_out(&self) -> bool {
        self.onset().is_some()
    }

    /// The first and the last time of measurement.
    pub(super) fn extent(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.points.first()?.0, self.points.last()?.0))
    }

    /// Whether this one begins more than a step before the other: an effect does not precede its
    /// cause. Where both are added up over calls, what came before counts only as far as it would stand out over there.
    pub(super) fn precedes(&self, other: &Self) -> bool {
        let later = |own: Option<Timestamp>, theirs: Option<Timestamp>| {
            matches!((own, theirs), (Some(own), Some(theirs))
                if theirs.duration_since(own) > self.step.max(other.step))
        };
        later(self.onset(), other.onset())
            && later(self.peak_onset(), other.peak_onset())
            && self.would_show_before(other)
    }

    /// Whether something of this one, before the other begins, would surely stand out there.
    fn would_show_before(&self, other: &Self) -> bool {
        if [self.weight, other.weight] != [Weight::Calls; 2] {
            return true;
        }
        let Some(begun) = other.onset() else { return true };
        let steps = other.step.as_secs_f64() / self.step.as_secs_f64().max(1.0);
        let before = self.points.iter().filter(|(at, _)| *at < begun);
        let shown: Vec<bool> =
            before.map(|(_, excess)| excess * steps > SURELY * other.limit).collect();
        shown.windows(MIN_RUN).any(|run| run.iter().all(|shows| *shows))
    }

    /// The share of this burden, 0 to 1, that another one can account for: step by step, at most
    /// what this one has.
    pub(super) fn share_of(&self, other: &Self) -> f64 {
        let step = self.step.max(other.step).as_secs().max(1);
        let (own, theirs) = (self.by_step(step), other.by_step(step));
        let total: f64 = own.values().sum();
        let common =
            |(at, own): (&i64, &f64)| theirs.get(at).map_or(0.0, |theirs| own.min(*theirs));
        let covered: f64 = own.iter().map(common).sum();
        if total > 0.0 { (covered / total).min(1.0) } else { 0.0 }
    }

    /// What is too much in steps of so many seconds: added up over calls, else the mean.
    fn by_step(&self, seconds: i64) -> BTreeMap<i64, f64> {
        let mut steps: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
        for (at, excess) in &self.points {
            let (sum, count) = steps.entry(at.as_second().div_euclid(seconds)).or_default();
            *sum += excess.max(0.0);
            *count += 1.0;
        }
        let value = |(sum, count): (f64, f64)| match self.weight {
            Weight::Calls => sum,
            Weight::None => sum / count,
        };
        steps.into_iter().map(|(at, step)| (at, value(step))).collect()
    }
}

/// The account that a series is kept on, if it is on one.
pub(super) fn kind_of(series: &Series) -> Option<Kind> {
    Kind::of(series.signal).filter(|_| series.peer.is_none())
}

/// Draws up the account of one entity. Points of the window before `control_end` are a second
/// baseline: what was there already is not counted.
pub(super) fn account(
    measured: &Measured<'_>,
    kind: Kind,
    weight: Weight,
    periods: &Periods,
    control_end: Option<Timestamp>,
) -> Account {
    let own = measured.series.iter().filter(|series| series.peer.is_none());
    let on_account = own.clone().filter(|series| kind_of(series) == Some(kind));
    let traffic = longest(own.copied().filter(|series| series.signal == Signal::Traffic));
    let idle = traffic.is_some_and(|traffic| is_idle(traffic, periods));
    // What is nought as a rule, such as how late a run is, is no time that a request takes.
    let is_time_of_requests = |series: &&&Series| {
        let Some(parts) = periods.cut(&series.points) else { return true };
        median(parts.baseline.iter().map(|(_, value)| *value)).is_none_or(|usual| usual != 0.0)
    };
    let of_requests =
        on_account.clone().filter(|one| kind != Kind::Time || is_time_of_requests(one));
    let Some(series) = longest(of_requests.copied()).or_else(|| longest(on_account.copied()))
    else {
        return if idle { Account::Usual } else { Account::Unknown };
    };
    let Some(parts) = periods.cut(&series.points) else { return Account::Usual };
    if parts.baseline.len() < MIN_BASELINE {
        return Account::Usual;
    }

    let reading = Reading::of(series);
    let counts = match (weight, reading) {
        (Weight::None, _) | (_, Reading::Count) => None,
        (Weight::Calls, _) => traffic.map(|traffic| Counts::of(traffic, step_of(series))),
    };
    let weight = match reading {
        Reading::Count => Weight::Calls,
        _ if counts.is_some() => Weight::Calls,
        _ => Weight::None,
    };
    let bad = |value: f64| reading.bad(value);
    let Some(usual) = median(parts.baseline.iter().map(|(_, value)| bad(*value))) else {
        return Account::Usual;
    };
    let calls = |at: Timestamp| counts.as_ref().map_or(Some(1.0), |counts| counts.at(at));
    let excess = |(at, value): &(Timestamp, f64), usual: f64| {
        Some((*at, calls(*at)? * (bad(*value) - usual)))
    };

    let before = |at: Timestamp| control_end.is_some_and(|end| at < end);
    let (control, incident): (Vec<_>, Vec<_>) =
        parts.incident.iter().copied().partition(|(at, _)| before(*at));
    let control = median(control.iter().map(|(_, value)| bad(*value)));
    let reference = control.map_or(usual, |control| control.max(usual));

    let baseline: Vec<f64> =
        parts.baseline.iter().filter_map(|point| Some(excess(point, usual)?.1)).collect();
    let level = parts.baseline.iter().filter_map(|(at, _)| Some(calls(*at)? * usual));
    let level = median(level).unwrap_or(0.0).abs();
    let points: Vec<(Timestamp, f64)> =
        incident.iter().filter_map(|point| excess(point, reference)).collect();
    // Where there are two usual levels, the deviation describes one of them alone.
    let often = percentile(baseline.iter().copied(), USUAL_PERCENT).unwrap_or(0.0);
    let sigmas = quantile(baseline.len() as f64 - 1.0);
    let limit = (sigmas * scale(&baseline).unwrap_or(0.0)).max(MIN_RELATIVE * level).max(often);
    let high: Vec<Timestamp> =
        points.iter().filter(|point| point.1 > limit).map(|point| point.0).collect();
    let shown = incident.iter().filter(|(at, _)| high.is_empty() || high.contains(at));
    let observed = median(shown.map(|(_, value)| bad(*value))).unwrap_or(usual);
    if points.is_empty() {
        return Account::Usual;
    }
    Account::Burden(Burden {
        metric: series.metric.clone(),
        unit: reading.unit(series),
        weight,
        points,
        limit,
        step: step_of(series),
        usual,
        observed,
    })
}

/// How a value is read: as something of which more is worse.
#[derive(Clone, Copy)]
enum Reading {
    /// Time per call.
    Time,
    /// A share of failures, 1 being all, in this many parts.
    Failing(f64),
    /// A share of successes.
    Working(f64),
    /// A number of failures.
    Count,
}

impl Reading {
    fn of(series: &Series) -> Self {
        let whole = match series.unit.as_str() {
            "ratio" => Some(1.0),
            "percent" | "%" => Some(100.0),
            _ => None,
        };
        match (series.signal, whole) {
            (Signal::Latency, _) => Self::Time,
            (Signal::Availability, Some(whole)) => Self::Working(whole),
            (_, Some(whole)) => Self::Failing(whole),
            (_, None) => Self::Count,
        }
    }

    fn bad(self, value: f64) -> f64 {
        match self {
            Self::Time | Self::Count => value,
            Self::Failing(whole) => value / whole,
            Self::Working(whole) => 1.0 - value / whole,
        }
    }

    fn unit(self, series: &Series) -> String {
        match self {
            Self::Failing(_) | Self::Working(_) => "failed requests".into(),
            Self::Time | Self::Count => series.unit.clone(),
        }
    }
}

/// The number of calls around a time.
struct Counts {
    by_time: BTreeMap<Timestamp, f64>,
    step: SignedDuration,
}

impl Counts {
    fn of(traffic: &Series, step: SignedDuration) -> Self {
        let finite = traffic.points.iter().copied().filter(|(_, value)| value.is_finite());
        Self { by_time: finite.collect(), step }
    }

    fn at(&self, at: Timestamp) -> Option<f64> {
        let (counted, calls) = self.by_time.range(..=at).next_back()?;
        (at.duration_since(*counted) <= self.step).then_some(calls.max(0.0))
    }
}

/// The series with the most points; of several the first by name.
pub(super) fn longest<'a>(series: impl Iterator<Item = &'a Series>) -> Option<&'a Series> {
    let key = |series: &&Series| (std::cmp::Reverse(series.points.len()), series.metric.clone());
    series.min_by_key(key)
}

/// How many requests commonly come to an entity, to compare with others of the same unit.
pub(super) struct Rate {
    /// What a rate says in its unit, or how many are counted in a second.
    pub(super) value: f64,
    pub(super) unit: String,
}

/// The rate of the requests of an entity in the baseline, if they are counted.
pub(super) fn usual_rate(measured: &Measured<'_>, periods: &Periods) -> Option<Rate> {
    let own = measured.series.iter().filter(|series| series.peer.is_none());
    let traffic = longest(own.copied().filter(|series| series.signal == Signal::Traffic))?;
    let parts = periods.cut(&traffic.points)?;
    let counts: Vec<f64> = parts.baseline.iter().map(|(_, requests)| *requests).collect();
    let unit = traffic.unit.clone();
    let time = if is_unit_of_rates(&unit) { 1.0 } else { step_of(traffic).as_secs_f64() };
    Some(Rate { value: mean(&counts) / time, unit })
}

fn is_idle(traffic: &Series, periods: &Periods) -> bool {
    let mut inside =
        traffic.points.iter().filter(|(at, _)| periods.window.contains(*at)).peekable();
    inside.peek().is_some() && inside.all(|(_, calls)| *calls == 0.0)
}

/// The median time between two points.
fn step_of(series: &Series) -> SignedDuration {
    let gaps = series.points.windows(2).filter_map(|pair| match pair {
        [a, b] => Some(b.0.duration_since(a.0).as_secs_f64()),
        _ => None,
    });
    SignedDuration::from_secs(median(gaps).unwrap_or(60.0).max(1.0) as i64)
}

#[cfg(test)]
mod tests {
    use eog_core::{EntityId, EvidenceKind, Window};

    use super::*;

    #[test]
    fn rates_are_compared_as_they_are_and_counts_by_their_steps() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let periods = Periods::new(Window::new(at(3_600), at(7_200)).unwrap());
        let rate = |unit: &str, step: i64, value: f64| {
            let series = Series {
                entity: EntityId::new("shop").unwrap(),
                kind: EvidenceKind::Metric,
                metric: "requests".into(),
                signal: Signal::Traffic,
                unit: unit.into(),
                peer: None,
                points: (0..7_200 / step).map(|number| (at(number * step), value)).collect(),
            };
            let measured = Measured { series: vec![&series], events: &[] };
            usual_rate(&measured, &periods).map(|rate| (rate.value, rate.unit))
        };
        for unit in ["1/s", "rps"] {
            assert_eq!(rate(unit, 15, 20.0), Some((20.0, unit.to_owned())));
            assert_eq!(rate(unit, 60, 20.0), Some((20.0, unit.to_owned())));
        }
        assert_eq!(rate("requests", 15, 300.0), Some((20.0, "requests".to_owned())));
        assert_eq!(rate("requests", 60, 1_200.0), Some((20.0, "requests".to_owned())));
    }
}
