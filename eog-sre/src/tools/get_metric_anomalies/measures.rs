//! From the series of metrics to what can be compared point by point.

use std::collections::BTreeMap;

use eog_core::{EntityId, Timestamp};
use eog_evidence::{SPAN_BUCKET_SECONDS, words};
use serde::Serialize;

use crate::evidence::{Buckets, is_counter, is_failure, is_request_counter, measured, unit_of};
use crate::read::MetricSeries;
use crate::tools::series::Measured;

/// Fewest requests or observations of a step that say something about their share or size.
const MIN_OBSERVED: f64 = 5.0;

/// What is compared of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MeasureKind {
    /// The value itself.
    Level,
    /// Growth per second of a counter.
    Rate,
    /// For requests that are counted by outcome, the share that failed.
    ErrorRatio,
    /// 95th percentile of the observations in a histogram.
    P95,
}

impl MeasureKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Level => "level",
            Self::Rate => "rate",
            Self::ErrorRatio => "error_ratio",
            Self::P95 => "p95",
        }
    }
}

/// Points by time.
type Line = Vec<(Timestamp, f64)>;

/// One series that is compared with itself. Different metrics are never put together.
pub(super) struct Measure {
    pub(super) entity: EntityId,
    pub(super) metric: String,
    pub(super) labels: String,
    pub(super) kind: MeasureKind,
    pub(super) unit: &'static str,
    pub(super) points: Line,
}

/// Buckets of one histogram become its 95th percentile, counters of requests by outcome their rate
/// and share of failures, other counters their rate; anything else is a level.
pub(super) fn measures(chosen: &[Measured<'_>]) -> Vec<Measure> {
    let mut found = Vec::new();
    let mut histograms: Groups<'_> = BTreeMap::new();
    let mut requests: Groups<'_> = BTreeMap::new();
    for one in chosen {
        let series = one.series;
        let key = |without: &[&str]| (&one.entity, series.metric.as_ref(), one.labels(without));
        if series.bucket.is_some() {
            histograms.entry(key(&[])).or_default().push(series);
        } else if is_request_counter(series) {
            requests.entry(key(&["status_code"])).or_default().push(series);
        } else {
            let kind =
                if is_counter(&series.metric) { MeasureKind::Rate } else { MeasureKind::Level };
            found.push(measure(key(&[]), kind, measured(series)));
        }
    }
    for (key, series) in histograms {
        found.push(measure(key, MeasureKind::P95, percentiles(&series)));
    }
    for (key, series) in requests {
        let (rates, ratios) = outcomes(&series);
        found.push(measure(key.clone(), MeasureKind::Rate, rates));
        found.push(measure(key, MeasureKind::ErrorRatio, ratios));
    }
    found
}

/// Entity, metric and labels.
type Key<'a> = (&'a EntityId, &'a str, String);

type Groups<'a> = BTreeMap<Key<'a>, Vec<&'a MetricSeries>>;

fn measure(key: Key<'_>, kind: MeasureKind, points: Line) -> Measure {
    let (entity, metric, labels) = key;
    let unit = match kind {
        MeasureKind::ErrorRatio => "ratio",
        MeasureKind::P95 if metric.contains("milliseconds") => "ms",
        MeasureKind::P95 if metric.contains("seconds") => "s",
        _ => unit_of(metric, &words(metric)),
    };
    Measure { entity: entity.clone(), metric: metric.to_owned(), labels, kind, unit, points }
}

/// Growth and seconds of a counter in each step. What a restart lost is left out.
fn steps(series: &MetricSeries) -> BTreeMap<i64, (f64, f64)> {
    let mut steps: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for [(from, old), (to, new)] in series.points.steps() {
        let seconds = to.duration_since(from).as_secs_f64();
        if new >= old && seconds > 0.0 {
            let step = steps.entry(to.as_second().div_euclid(SPAN_BUCKET_SECONDS)).or_default();
            step.0 += new - old;
            step.1 += seconds;
        }
    }
    steps
}

fn percentiles(series: &[&MetricSeries]) -> Line {
    let mut by_step: BTreeMap<i64, Buckets> = BTreeMap::new();
    for one in series {
        let Some(bound) = one.bucket else { continue };
        for (step, (grown, _)) in steps(one) {
            by_step.entry(step).or_default().add(bound, grown);
        }
    }
    let busy = by_step.into_iter().filter(|(_, buckets)| buckets.total() >= MIN_OBSERVED);
    busy.filter_map(|(step, buckets)| Some((beginning(step)?, buckets.quantile(0.95)?))).collect()
}

/// Requests a second, and the share of them that failed.
fn outcomes(series: &[&MetricSeries]) -> (Line, Line) {
    #[derive(Default)]
    struct Step {
        all: f64,
        failed: f64,
        rate: f64,
    }
    let mut by_step: BTreeMap<i64, Step> = BTreeMap::new();
    for one in series {
        let failure = is_failure(&one.status_code);
        for (at, (grown, seconds)) in steps(one) {
            let step = by_step.entry(at).or_default();
            step.all += grown;
            step.rate += grown / seconds;
            step.failed += if failure { grown } else { 0.0 };
        }
    }
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for (at, step) in by_step {
        let Some(at) = beginning(at) else { continue };
        rates.push((at, step.rate));
        if step.all >= MIN_OBSERVED {
            ratios.push((at, step.failed / step.all));
        }
    }
    (rates, ratios)
}

fn beginning(step: i64) -> Option<Timestamp> {
    Timestamp::from_second(step.checked_mul(SPAN_BUCKET_SECONDS)?).ok()
}
