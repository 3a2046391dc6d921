//! The receiver on real sockets, with the client of tonic and plain HTTP.

use std::io::Write as _;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, Summary, SummaryDataPoint, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use tonic::codec::CompressionEncoding;

use super::columns::{LineRow, SpanRow};
use super::window::Rows;
use super::*;
use crate::piece::Who;

/// A time within [`hour`], in nanoseconds.
const TIME: u64 = 1_767_261_600_000_000_000;

fn hour() -> Period {
    Period { from: 1_767_260_000_000, until: 1_767_263_600_000 }
}

fn value(key: &str, text: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(text.to_owned())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}

fn resource(name: &str) -> Option<Resource> {
    let attributes = if name.is_empty() { vec![] } else { vec![value("service.name", name)] };
    Some(Resource { attributes, ..Resource::default() })
}

fn spans(service: &str, count: u8) -> ExportTraceServiceRequest {
    let span = |number: u8| Span {
        trace_id: vec![7; 16],
        span_id: vec![number + 1; 8],
        name: "GET /cart password=hunter2".to_owned(),
        kind: 2,
        start_time_unix_nano: TIME,
        end_time_unix_nano: TIME + 5_000_000,
        attributes: vec![value("http.response.status_code", "503"), value("peer.service", "db")],
        ..Span::default()
    };
    let scope_spans =
        vec![ScopeSpans { spans: (0..count).map(span).collect(), ..ScopeSpans::default() }];
    let batch =
        ResourceSpans { resource: resource(service), scope_spans, ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![batch] }
}

fn config(more: &str) -> Config {
    toml::from_str(&format!("listen = ['127.0.0.1:0']\n{more}")).unwrap()
}

/// A receiver on a port of its own.
fn start(more: &str) -> (SocketAddr, Received) {
    let text = format!("[otlp]\nlisten = ['127.0.0.1:0']\n{more}");
    let source = SourceConfig::parse(&text, "source.toml".as_ref()).unwrap();
    let receiver = Receiver::bind(&source).unwrap().unwrap();
    let (at, received) = (receiver.addresses()[0], receiver.received());
    tokio::spawn(receiver.run(CancellationToken::new()));
    (at, received)
}

/// Status and body of an answer.
async fn post(
    at: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> (u16, Vec<u8>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut request = reqwest::Client::new().post(format!("http://{at}{path}")).body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.bytes().await.unwrap().to_vec())
}

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    writer.write_all(plain).unwrap();
    writer.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_protocols_reach_the_window_masked_and_refusals_are_reported() {
    let (at, received) = start("");
    let body = spans("web", 2).encode_to_vec();
    let (status, answer) = post(at, "/v1/traces", &[PROTOBUF], body.clone()).await;
    assert_eq!((status, answer.len()), (200, 0), "all of it");
    let zipped = [PROTOBUF, ("content-encoding", "gzip")];
    assert_eq!(post(at, "/v1/traces", &zipped, gzip(&body)).await.0, 200);
    let (status, answer) = post(at, "/v1/traces", &[PROTOBUF], spans("", 3).encode_to_vec()).await;
    let answer = ExportTraceServiceResponse::decode(&answer[..]).unwrap().partial_success.unwrap();
    assert_eq!((status, answer.rejected_spans), (200, 3));
    assert!(answer.error_message.contains("service.name"), "{answer:?}");
    let mut client = TraceServiceClient::connect(format!("http://{at}")).await.unwrap();
    client.export(spans("cart", 1)).await.unwrap();
    let mut client = client.send_compressed(CompressionEncoding::Gzip);
    let answer = client.export(spans("", 1)).await.unwrap().into_inner();
    assert_eq!(answer.partial_success.unwrap().rejected_spans, 1);
    let log = LogRecord {
        observed_time_unix_nano: TIME,
        severity_number: 17,
        body: value("", "token=hunter2 is wrong").value,
        ..LogRecord::default()
    };
    let scope_logs =
        vec![ScopeLogs { log_records: vec![log, LogRecord::default()], ..ScopeLogs::default() }];
    let batch = ResourceLogs { resource: resource("web"), scope_logs, ..ResourceLogs::default() };
    let body = ExportLogsServiceRequest { resource_logs: vec![batch] }.encode_to_vec();
    let (status, answer) = post(at, "/v1/logs", &[PROTOBUF], body).await;
    assert!(status == 200 && !answer.is_empty(), "one has no time");
    let piece = received.piece(hour(), 100, 100);
    assert_eq!((piece.spans.len(), piece.lines.len()), (5, 1));
    let span = &piece.spans[0];
    assert_eq!((span.who.clone(), span.failed), (Who::service("web"), Some(true)));
    assert_eq!((span.trace.as_str(), span.kind.as_str()), (&*"07".repeat(16), "Server"));
    assert_eq!((span.name.as_str(), span.nanoseconds), ("GET /cart password=[masked]", 5_000_000));
    assert_eq!(span.attributes["peer.service"], "db");
    assert_eq!(
        (&*piece.lines[0].level, &*piece.lines[0].text),
        ("error", "token=[masked] is wrong")
    );
    let figures = received.figures();
    assert_eq!((figures.held, figures.taken, figures.refused), (6, 6, 5));
    let few = received.piece(hour(), 2, 0);
    assert_eq!((few.spans.len(), few.lines.len()), (2, 0));
    assert!(few.missing[0].starts_with("4 records beyond max_spans"), "{:?}", few.missing);
}

#[tokio::test(flavor = "multi_thread")]
async fn bombs_strangers_and_nonsense_are_refused() {
    let (at, received) = start("max_body = 65536\ntoken = 'a-token-of-the-test'");
    let token = ("authorization", "Bearer a-token-of-the-test");
    let body = spans("web", 1).encode_to_vec();
    assert_eq!(post(at, "/v1/traces", &[PROTOBUF], body.clone()).await.0, 401);
    assert_eq!(post(at, "/v1/traces", &[PROTOBUF, token], body.clone()).await.0, 200);
    let zipped = [PROTOBUF, token, ("content-encoding", "gzip")];
    let bomb = gzip(&vec![0; 64 << 20]);
    assert!(bomb.len() < 70_000, "{}", bomb.len());
    let cases = [
        (vec![PROTOBUF, token], vec![0; 70_000], 413),
        (zipped.to_vec(), gzip(&vec![0; 1 << 20]), 413),
        (zipped.to_vec(), b"no gzip".to_vec(), 400),
        (vec![PROTOBUF, token, ("content-encoding", "br")], body.clone(), 415),
        (vec![("content-type", "application/json"), token], b"{}".to_vec(), 415),
        (vec![PROTOBUF, token], b"\xff\xff\xff".to_vec(), 400),
    ];
    for (headers, body, expected) in cases {
        assert_eq!(post(at, "/v1/traces", &headers, body).await.0, expected, "{headers:?}");
    }
    let channel = tonic::transport::Channel::builder(format!("http://{at}").parse().unwrap());
    let channel = channel.connect().await.unwrap();
    let stranger = TraceServiceClient::new(channel.clone()).export(spans("web", 1)).await;
    assert_eq!(stranger.unwrap_err().code(), tonic::Code::Unauthenticated);
    let with = |mut request: tonic::Request<()>| {
        request
            .metadata_mut()
            .insert("authorization", "Bearer a-token-of-the-test".parse().unwrap());
        Ok(request)
    };
    let client = TraceServiceClient::with_interceptor(channel, with);
    let mut client = client.send_compressed(CompressionEncoding::Gzip);
    // Compressed it is short.
    let mut long = spans("web", 1);
    long.resource_spans[0].scope_spans[0].spans[0].name = "a".repeat(1 << 20);
    let refused = client.export(long).await.unwrap_err();
    assert!(
        matches!(refused.code(), tonic::Code::OutOfRange | tonic::Code::ResourceExhausted),
        "{refused}"
    );
    client.export(spans("web", 1)).await.unwrap();
    assert_eq!(received.figures().taken, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn durations_of_requests_become_rates_shares_and_means() {
    let (at, received) = start("");
    let point = |second: u64, status: &str, count: u64, sum: f64| HistogramDataPoint {
        attributes: vec![value("http.response.status_code", status)],
        time_unix_nano: TIME + second * 1_000_000_000,
        count,
        sum: Some(sum),
        ..HistogramDataPoint::default()
    };
    let histogram = Histogram {
        data_points: vec![
            point(0, "200", 100, 10.0),
            point(60, "200", 160, 16.0),
            // The process was started anew.
            point(120, "200", 30, 3.0),
            point(0, "500", 5, 1.0),
            point(60, "500", 5, 1.0),
            point(120, "500", 35, 31.0),
        ],
        aggregation_temporality: AggregationTemporality::Cumulative as i32,
    };
    let metric = |name: &str, data| Metric {
        name: name.to_owned(),
        unit: "s".to_owned(),
        data: Some(metric::Data::Histogram(data)),
        ..Metric::default()
    };
    let metrics = vec![
        metric("http.server.request.duration", histogram.clone()),
        metric("of.nobody", histogram),
    ];
    let scope_metrics = vec![ScopeMetrics { metrics, ..ScopeMetrics::default() }];
    let batch =
        ResourceMetrics { resource: resource("web"), scope_metrics, ..ResourceMetrics::default() };
    let body = ExportMetricsServiceRequest { resource_metrics: vec![batch] }.encode_to_vec();
    assert_eq!(post(at, "/v1/metrics", &[PROTOBUF], body).await.0, 200);
    let piece = received.piece(hour(), 1, 1);
    let begin = (TIME / 1_000_000) as Millis;
    let measured: Vec<_> =
        piece.series.iter().map(|it| (it.metric.as_str(), it.points.clone())).collect();
    assert_eq!(
        measured,
        [
            (
                "http.server.request.duration error rate",
                vec![(begin + 60_000, 0.0), (begin + 120_000, 0.5)]
            ),
            (
                "http.server.request.duration mean duration",
                vec![(begin + 60_000, 100.0), (begin + 120_000, 550.0)]
            ),
            (
                "http.server.request.duration requests",
                vec![(begin + 60_000, 1.0), (begin + 120_000, 1.0)]
            ),
        ]
    );
}

fn rows(number: u64) -> Rows {
    let who = Who::service("web");
    let span = SpanRow {
        start: (TIME + number) as i64,
        nanoseconds: 1,
        who: who.clone(),
        trace: [1; 16],
        id: number.to_be_bytes(),
        parent: [0; 8],
        name: format!("operation {number}"),
        kind: 2,
        failed: false,
        peer: String::new(),
        message: String::new(),
    };
    let line = LineRow {
        at: (TIME + number) as i64,
        who,
        level: "info".to_owned(),
        text: format!("line {number}"),
        trace: [0; 16],
    };
    Rows { spans: vec![span], lines: vec![line], ..Rows::default() }
}

#[test]
fn the_oldest_goes_first_by_bytes() {
    let mut window = Window::new(&config("window_bytes = 1048576"));
    let now = now();
    for number in 0..20_000 {
        window.take(rows(number), now);
        assert!(window.figures().bytes <= 1 << 20, "{number}");
    }
    let figures = window.figures();
    assert_eq!(figures.held + figures.dropped, 40_000, "each is held or dropped");
    assert!(figures.held > 1_000, "{figures:?}");
    let piece = reading::piece(&window, hour(), 100_000, 100_000);
    let names: Vec<_> = piece.spans.iter().map(|it| it.name.clone()).collect();
    let first = 20_000 - names.len();
    let expected: Vec<_> = (first..20_000).map(|number| format!("operation {number}")).collect();
    assert_eq!(names, expected, "the latest, in order");
}

#[test]
fn the_oldest_goes_first_by_time() {
    let mut window = Window::new(&config("window = '32m'"));
    let minute = |number: u64| now() + number as Millis * 60_000;
    for number in 0..100 {
        window.take(rows(number), minute(number));
    }
    window.roll(minute(99));
    let piece = reading::piece(&window, hour(), 1_000, 1_000);
    let (first, last) =
        (piece.spans[0].name.as_str(), piece.spans[piece.spans.len() - 1].name.as_str());
    assert!(matches!(first, "operation 66" | "operation 67"), "{first}");
    assert_eq!(last, "operation 99");
}

#[test]
fn files_of_the_exporter_hold_requests_one_behind_the_other() {
    let point = |value: i64| NumberDataPoint {
        time_unix_nano: TIME + value as u64 * 1_000_000_000,
        value: Some(number_data_point::Value::AsInt(value)),
        ..NumberDataPoint::default()
    };
    let request = |value: i64| {
        let sum = Sum {
            data_points: vec![point(value)],
            aggregation_temporality: AggregationTemporality::Cumulative as i32,
            is_monotonic: true,
        };
        let gauge = Gauge { data_points: vec![point(value)] };
        let summary = Summary {
            data_points: vec![SummaryDataPoint {
                time_unix_nano: TIME + value as u64 * 1_000_000_000,
                count: value as u64,
                sum: 2.0 * value as f64,
                ..SummaryDataPoint::default()
            }],
        };
        let all = [
            ("orders", metric::Data::Sum(sum)),
            ("size", metric::Data::Gauge(gauge)),
            ("wait", metric::Data::Summary(summary)),
        ];
        let metrics = all.map(|(name, data)| Metric {
            name: name.to_owned(),
            data: Some(data),
            ..Metric::default()
        });
        let scope_metrics = vec![ScopeMetrics { metrics: metrics.into(), ..Default::default() }];
        let batch =
            ResourceMetrics { resource: resource("web"), scope_metrics, ..Default::default() };
        ExportMetricsServiceRequest { resource_metrics: vec![batch] }.encode_to_vec()
    };
    let framed = |requests: &[Vec<u8>]| {
        let frame = |it: &Vec<u8>| [&(it.len() as u32).to_be_bytes()[..], it].concat();
        requests.iter().flat_map(frame).collect::<Vec<u8>>()
    };
    let read = |file: &[u8]| {
        let (mut piece, points) = decoded(file).unwrap();
        crate::metrics::series(points.iter().map(|(key, it)| (key, *it)), hour(), &mut piece);
        piece
    };
    let file = framed(&[
        request(0),
        request(60),
        spans("", 2).encode_to_vec(),
        spans("web", 1).encode_to_vec(),
    ]);
    let piece = read(&file);
    let told: Vec<_> = piece
        .series
        .iter()
        .map(|it| (it.metric.as_str(), it.points.iter().map(|it| it.1).collect::<Vec<_>>()))
        .collect();
    assert_eq!(
        told,
        [
            ("orders", vec![1.0]),
            ("wait count", vec![1.0]),
            ("wait mean", vec![2.0]),
            ("size", vec![0.0, 60.0])
        ]
    );
    assert_eq!(
        (piece.spans.len(), &*piece.missing),
        (1, &["2 records cannot be used: the resource has no service.name".to_owned()][..])
    );
    let cut = read(&file[..file.len() - 1]);
    assert!(cut.missing.iter().any(|it| it == "1 request is cut off by the end of the file"));
    // One request without a length before it.
    assert_eq!(read(&request(5)).series.len(), 1);
    assert!(decoded(&[0, 0, 0, 2, 1, 2]).is_none() && decoded(b"\x0a\xff").is_none());
}
