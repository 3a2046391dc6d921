//! Takes requests of OTLP apart: rows for the window, and what cannot be used.

use opentelemetry_proto::tonic::collector::logs::v1 as logs;
use opentelemetry_proto::tonic::collector::metrics::v1 as metrics;
use opentelemetry_proto::tonic::collector::trace::v1 as trace;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Metric as GivenMetric, metric::Data, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{Span, status::StatusCode};
use prost::Message;

use super::columns::{LineRow, SpanRow};
use super::window::Rows;
use super::{Received, now};
use crate::metrics::{Metric, PointKind, Since, kind_of_sum};
use crate::piece::Who;
use crate::spans::{Attributes, add, failed, peer, sender, text};

/// What was not taken in of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) refused: i64,
    pub(super) reason: String,
}

/// Which metrics are held, by name.
pub(super) type Held = fn(&str) -> bool;

/// A request of OTLP.
pub(super) trait Intake: Message + Default + 'static {
    type Answer: Message + Default;

    /// What of it can be used: of metrics those that are to be held.
    fn rows(self, held: Held, problems: &mut Problems) -> Rows;

    fn answer(taken: Taken) -> Self::Answer;

    /// Takes in what can be used.
    fn take(self, held: Held, received: &Received) -> Taken {
        let mut problems = Problems::default();
        let mut rows = self.rows(held, &mut problems);
        rows.refused = problems.count;
        received.with(|window| window.take(rows, now()));
        problems.taken()
    }
}

/// The rows of a message as a request of a kind, and what cannot be used.
pub(super) fn rows_of<R: Intake>(message: &[u8]) -> Option<(Rows, Taken)> {
    let mut problems = Problems::default();
    let rows = R::decode(message).ok()?.rows(|_| true, &mut problems);
    Some((rows, problems.taken()))
}

/// How many records cannot be used, and why the first.
#[derive(Debug, Default)]
pub(super) struct Problems {
    count: u64,
    first: Option<&'static str>,
}

impl Problems {
    fn add(&mut self, count: usize, reason: &'static str) {
        if count > 0 {
            self.count += count as u64;
            self.first.get_or_insert(reason);
        }
    }

    fn taken(self) -> Taken {
        Taken {
            refused: i64::try_from(self.count).unwrap_or(i64::MAX),
            reason: self.first.unwrap_or_default().to_owned(),
        }
    }
}

const NAMELESS: &str = "the resource has no service.name";

impl Intake for trace::ExportTraceServiceRequest {
    type Answer = trace::ExportTraceServiceResponse;

    fn rows(self, _: Held, problems: &mut Problems) -> Rows {
        let mut rows = Rows::default();
        for batch in self.resource_spans {
            let spans = batch.scope_spans.into_iter().flat_map(|scope| scope.spans);
            let Some(who) = whose(batch.resource.as_ref()) else {
                problems.add(spans.count(), NAMELESS);
                continue;
            };
            for given in spans {
                match span(given, &who) {
                    Some(row) => rows.spans.push(row),
                    None => problems.add(1, "a span without ids or times"),
                }
            }
        }
        rows
    }

    fn answer(Taken { refused, reason }: Taken) -> Self::Answer {
        let partial =
            trace::ExportTracePartialSuccess { rejected_spans: refused, error_message: reason };
        Self::Answer { partial_success: (refused > 0).then_some(partial) }
    }
}

impl Intake for logs::ExportLogsServiceRequest {
    type Answer = logs::ExportLogsServiceResponse;

    fn rows(self, _: Held, problems: &mut Problems) -> Rows {
        let mut rows = Rows::default();
        for batch in self.resource_logs {
            let records = batch.scope_logs.into_iter().flat_map(|scope| scope.log_records);
            let Some(who) = whose(batch.resource.as_ref()) else {
                problems.add(records.count(), NAMELESS);
                continue;
            };
            for given in records {
                match line(given, &who) {
                    Some(row) => rows.lines.push(row),
                    None => problems.add(1, "a log record without a time"),
                }
            }
        }
        rows
    }

    fn answer(Taken { refused, reason }: Taken) -> Self::Answer {
        let partial =
            logs::ExportLogsPartialSuccess { rejected_log_records: refused, error_message: reason };
        Self::Answer { partial_success: (refused > 0).then_some(partial) }
    }
}

impl Intake for metrics::ExportMetricsServiceRequest {
    type Answer = metrics::ExportMetricsServiceResponse;

    fn rows(self, held: Held, problems: &mut Problems) -> Rows {
        let mut rows = Rows::default();
        for batch in self.resource_metrics {
            let resource = attributes(&batch.resource.unwrap_or_default().attributes);
            let metrics = batch.scope_metrics.into_iter().flat_map(|scope| scope.metrics);
            for given in metrics.filter(|metric| held(&metric.name)) {
                points(&given, &resource, &mut rows, problems);
            }
        }
        rows
    }

    fn answer(Taken { refused, reason }: Taken) -> Self::Answer {
        let partial = metrics::ExportMetricsPartialSuccess {
            rejected_data_points: refused,
            error_message: reason,
        };
        Self::Answer { partial_success: (refused > 0).then_some(partial) }
    }
}

fn whose(resource: Option<&Resource>) -> Option<Who> {
    sender(&attributes(&resource?.attributes))
}

/// Attributes by name, masked.
fn attributes(given: &[KeyValue]) -> Attributes {
    let mut all = Attributes::new();
    for KeyValue { key, value, .. } in given {
        add(&mut all, key, &said(value.as_ref()));
    }
    all
}

/// A value as text.
fn said(value: Option<&AnyValue>) -> String {
    match value.and_then(|it| it.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::BoolValue(value)) => value.to_string(),
        Some(Value::IntValue(value)) => value.to_string(),
        Some(Value::DoubleValue(value)) => value.to_string(),
        Some(Value::ArrayValue(list)) => {
            let items: Vec<String> = list.values.iter().take(20).map(plain).collect();
            format!("[{}]", items.join(", "))
        }
        Some(Value::KvlistValue(list)) => {
            let item = |it: &KeyValue| match &it.value {
                Some(value) => format!("{}={}", it.key, plain(value)),
                None => it.key.clone(),
            };
            list.values.iter().take(20).map(item).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}

/// A value within another: what is nested deeper is not shown.
fn plain(value: &AnyValue) -> String {
    match &value.value {
        Some(Value::ArrayValue(_) | Value::KvlistValue(_)) => "…".to_owned(),
        _ => said(Some(value)),
    }
}

fn span(given: Span, who: &Who) -> Option<SpanRow> {
    let start = i64::try_from(given.start_time_unix_nano).ok().filter(|start| *start > 0)?;
    let attributes = attributes(&given.attributes);
    let status = given.status.unwrap_or_default();
    // A status that was not set is no error, by the specification.
    let is_error = status.code == StatusCode::Error as i32 || failed(&attributes).unwrap_or(false);
    Some(SpanRow {
        start,
        nanoseconds: given.end_time_unix_nano.saturating_sub(given.start_time_unix_nano),
        who: who.clone(),
        trace: given.trace_id.try_into().ok()?,
        id: given.span_id.try_into().ok()?,
        parent: given.parent_span_id.try_into().unwrap_or_default(),
        name: text(&given.name),
        kind: u8::try_from(given.kind).unwrap_or(0),
        failed: is_error,
        peer: peer(&attributes).to_owned(),
        message: text(&status.message),
    })
}

fn line(given: LogRecord, who: &Who) -> Option<LineRow> {
    let times = [given.time_unix_nano, given.observed_time_unix_nano];
    let at = times.into_iter().find(|at| *at > 0).and_then(|at| i64::try_from(at).ok())?;
    let level = match given.severity_text.as_str() {
        "" => crate::otlp::level(given.severity_number.into()).to_owned(),
        given_level => eog_evidence::shorten(&eog_evidence::mask_text(given_level), 40),
    };
    Some(LineRow {
        at,
        who: who.clone(),
        level,
        text: text(&said(given.body.as_ref())),
        trace: given.trace_id.try_into().unwrap_or_default(),
    })
}

fn points(given: &GivenMetric, resource: &Attributes, rows: &mut Rows, problems: &mut Problems) {
    let metric = Metric::new(resource, &given.name, &given.unit);
    let since = |temporality: i32| match temporality == AggregationTemporality::Delta as i32 {
        true => Since::Last,
        false => Since::Start,
    };
    let mut add = |kind: Result<PointKind, &'static str>,
                   of: &[KeyValue],
                   at,
                   flags: u32,
                   value: (f64, f64)| {
        // It says that there is no value.
        if flags & 1 == 1 {
            return;
        }
        match kind.and_then(|kind| metric.row(&attributes(of), kind, at, value)) {
            Ok(row) => rows.points.push(row),
            Err(reason) => problems.add(1, reason),
        }
    };
    macro_rules! numbers {
        ($data:ident, $kind:expr) => {
            for point in &$data.data_points {
                let value = match point.value {
                    Some(number_data_point::Value::AsDouble(value)) => value,
                    Some(number_data_point::Value::AsInt(value)) => value as f64,
                    None => f64::NAN,
                };
                add($kind, &point.attributes, point.time_unix_nano, point.flags, (1.0, value));
            }
        };
    }
    macro_rules! spreads {
        ($data:ident, $kind:expr, $sum:expr) => {
            for point in &$data.data_points {
                let value = (point.count as f64, $sum(point.sum));
                add(Ok($kind), &point.attributes, point.time_unix_nano, point.flags, value);
            }
        };
    }
    // A histogram need not have a sum.
    let sum = |sum: Option<f64>| sum.unwrap_or(0.0);
    match &given.data {
        Some(Data::Gauge(it)) => numbers!(it, Ok(PointKind::Level)),
        Some(Data::Sum(it)) => {
            numbers!(it, kind_of_sum(it.is_monotonic, since(it.aggregation_temporality)));
        }
        Some(Data::Histogram(it)) => {
            spreads!(it, PointKind::Spread(since(it.aggregation_temporality)), sum);
        }
        Some(Data::ExponentialHistogram(it)) => {
            spreads!(it, PointKind::Spread(since(it.aggregation_temporality)), sum);
        }
        Some(Data::Summary(it)) => spreads!(it, PointKind::Spread(Since::Start), f64::from),
        None => {}
    }
}
