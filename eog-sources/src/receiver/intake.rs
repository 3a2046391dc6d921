//! Takes requests of OTLP apart: rows for the window, and what cannot be used.

use opentelemetry_proto::tonic::collector::logs::v1 as logs;
use opentelemetry_proto::tonic::collector::metrics::v1 as metrics;
use opentelemetry_proto::tonic::collector::trace::v1 as trace;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Metric, metric::Data, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{Span, status::StatusCode};
use prost::Message;

use super::columns::{LineRow, Point, PointKind, SeriesKey, SpanRow};
use super::reading::is_kept;
use super::window::Rows;
use super::{Received, now};
use crate::piece::Who;
use crate::spans::{Attributes, add, failed, sender, text};

/// Attributes that name who is asked, best first.
const PEERS: [&str; 4] = ["peer.service", "server.address", "net.peer.name", "db.system"];

/// What was not taken in of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) refused: i64,
    pub(super) reason: String,
}

/// A request of OTLP.
pub(super) trait Intake: Message + Default + 'static {
    type Answer: Message + Default;

    fn rows(self, problems: &mut Problems) -> Rows;

    fn answer(taken: Taken) -> Self::Answer;

    /// Takes in what can be used.
    fn take(self, received: &Received) -> Taken {
        let mut problems = Problems::default();
        let mut rows = self.rows(&mut problems);
        rows.refused = problems.count;
        received.with(|window| window.take(rows, now()));
        Taken {
            refused: i64::try_from(problems.count).unwrap_or(i64::MAX),
            reason: problems.first.unwrap_or_default().to_owned(),
        }
    }
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
}

const NAMELESS: &str = "the resource has no service.name";

impl Intake for trace::ExportTraceServiceRequest {
    type Answer = trace::ExportTraceServiceResponse;

    fn rows(self, problems: &mut Problems) -> Rows {
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

    fn rows(self, problems: &mut Problems) -> Rows {
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

    fn rows(self, problems: &mut Problems) -> Rows {
        let mut rows = Rows::default();
        for batch in self.resource_metrics {
            let metrics = batch.scope_metrics.into_iter().flat_map(|scope| scope.metrics);
            let metrics = metrics.filter(|metric| is_kept(&metric.name));
            let resource = batch.resource.unwrap_or_default();
            let Some(who) = whose(Some(&resource)) else {
                problems.add(metrics.count(), NAMELESS);
                continue;
            };
            let stream = hash(0, &resource.attributes);
            for metric in metrics {
                points(metric, &who, stream, &mut rows, problems);
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

fn peer(attributes: &Attributes) -> String {
    let found = PEERS.iter().find_map(|name| attributes.get(*name).filter(|it| !it.is_empty()));
    found.cloned().unwrap_or_default()
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
        peer: peer(&attributes),
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

fn points(metric: Metric, who: &Who, stream: u64, rows: &mut Rows, problems: &mut Problems) {
    let name = eog_evidence::shorten(&eog_evidence::mask_text(&metric.name), 200);
    // Durations in milliseconds.
    let unit = if metric.unit == "s" { 1000.0 } else { 1.0 };
    let kind = |temporality: i32| match temporality == AggregationTemporality::Delta as i32 {
        true => PointKind::Delta,
        false => PointKind::Cumulative,
    };
    let mut add = |kind, given: &[KeyValue], nanos: u64, count: f64, sum: f64| {
        let at = i64::try_from(nanos / 1_000_000).unwrap_or(0);
        if at == 0 || !count.is_finite() || !sum.is_finite() {
            problems.add(1, "a point without a time or a number");
            return;
        }
        let of = attributes(given);
        let is_failed = failed(&of).unwrap_or_else(|| of.contains_key("error.type"));
        let key = SeriesKey {
            who: who.clone(),
            metric: name.clone(),
            peer: if name.contains(".client.") { peer(&of) } else { String::new() },
            failed: is_failed,
            kind,
            stream: hash(stream, given),
        };
        rows.points.push((key, Point { at, count, sum }));
    };
    macro_rules! histogram {
        ($it:ident) => {
            for point in &$it.data_points {
                let sum = point.sum.unwrap_or(0.0) * unit;
                let kind = kind($it.aggregation_temporality);
                add(kind, &point.attributes, point.time_unix_nano, point.count as f64, sum);
            }
        };
    }
    match metric.data {
        Some(Data::Histogram(it)) => histogram!(it),
        Some(Data::ExponentialHistogram(it)) => histogram!(it),
        Some(Data::Gauge(it)) => {
            for point in &it.data_points {
                let value = match point.value {
                    Some(number_data_point::Value::AsDouble(value)) => value,
                    Some(number_data_point::Value::AsInt(value)) => value as f64,
                    None => f64::NAN,
                };
                add(PointKind::Level, &point.attributes, point.time_unix_nano, 1.0, value);
            }
        }
        Some(Data::Sum(_) | Data::Summary(_)) | None => {}
    }
}

/// A hash of attributes: which stream of points it is.
fn hash(of: u64, attributes: &[KeyValue]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&of.to_le_bytes());
    for one in attributes {
        hasher.update(one.key.as_bytes()).update(&[0]);
        hasher.update(said(one.value.as_ref()).as_bytes()).update(&[0]);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}
