//! From the series of metrics to what can be compared point by point.

use std::collections::BTreeMap;

use eog_core::EntityId;
use eog_evidence::words;
use serde::Serialize;

use crate::evidence::{
    Line, is_counter, is_request_counter, measured, outcomes, percentiles, unit_of,
};
use crate::read::MetricSeries;
use crate::tools::series::Measured;

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
