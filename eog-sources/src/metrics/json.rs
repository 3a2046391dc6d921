//! Metrics of OTLP as JSON.

use serde::Deserialize;
use serde_json::Value;

use super::{Metric, Point, PointKind, SeriesKey, Since, UNUSABLE};
use crate::otlp::{Holder, KeyValue, attributes, number};

/// Metrics of one resource.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Batch {
    #[serde(default)]
    resource: Holder,
    #[serde(default, alias = "instrumentationLibraryMetrics")]
    scope_metrics: Vec<Scope>,
}

#[derive(Debug, Deserialize)]
struct Scope {
    #[serde(default)]
    metrics: Vec<Given>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Given {
    name: String,
    unit: String,
    gauge: Option<Data>,
    sum: Option<Data>,
    histogram: Option<Data>,
    exponential_histogram: Option<Data>,
    summary: Option<Data>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Data {
    data_points: Vec<GivenPoint>,
    aggregation_temporality: Value,
    is_monotonic: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GivenPoint {
    attributes: Vec<KeyValue>,
    time_unix_nano: Value,
    as_double: Value,
    as_int: Value,
    count: Value,
    sum: Value,
    flags: u32,
}

/// What is done with each point: with what it is of, or why it cannot be used.
pub(crate) type Then<'t> = &'t mut dyn FnMut(Result<(SeriesKey, Point), &'static str>);

/// The points of a batch.
pub(crate) fn points(batch: Batch, then: Then<'_>) {
    let resource = attributes(batch.resource.attributes);
    for given in batch.scope_metrics.into_iter().flat_map(|scope| scope.metrics) {
        let Given { name, unit, gauge, sum, histogram, exponential_histogram, summary } = given;
        let metric = Metric::new(&resource, &name, &unit);
        let since = |data: &Data| match &data.aggregation_temporality {
            Value::String(name) if name.ends_with("DELTA") => Since::Last,
            Value::Number(number) if number.as_u64() == Some(1) => Since::Last,
            _ => Since::Start,
        };
        let mut add = |data: Data, kind: Result<PointKind, &'static str>| {
            for point in data.data_points {
                // It says that there is no value.
                if point.flags & 1 == 1 {
                    continue;
                }
                then(kind.and_then(|kind| row(&metric, point, kind)));
            }
        };
        if let Some(data) = gauge {
            add(data, Ok(PointKind::Level));
        }
        if let Some(data) = sum {
            let kind = super::kind_of_sum(data.is_monotonic, since(&data));
            add(data, kind);
        }
        for data in [histogram, exponential_histogram].into_iter().flatten() {
            let kind = PointKind::Spread(since(&data));
            add(data, Ok(kind));
        }
        if let Some(data) = summary {
            add(data, Ok(PointKind::Spread(Since::Start)));
        }
    }
}

fn row(
    metric: &Metric<'_>,
    point: GivenPoint,
    kind: PointKind,
) -> Result<(SeriesKey, Point), &'static str> {
    let nanos = number(&point.time_unix_nano).and_then(|at| u64::try_from(at).ok());
    let value = match kind {
        PointKind::Spread(_) => {
            // A histogram need not have a sum.
            float(&point.count).map(|count| (count, float(&point.sum).unwrap_or(0.0)))
        }
        _ => float(&point.as_double).or_else(|| float(&point.as_int)).map(|value| (1.0, value)),
    };
    let (Some(nanos), Some(value)) = (nanos, value) else { return Err(UNUSABLE) };
    metric.row(&attributes(point.attributes), kind, nanos, value)
}

/// A number, which JSON may hold as text.
fn float(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}
