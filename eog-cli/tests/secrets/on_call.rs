//! A service on call: alerts that are sent to it, messages that it sends, and what it stores and shows.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span, Status as OtlpStatus,
};
use prost::Message as _;
use serde_json::{Value, json};

use super::on_call_lab::{Receiver, Service, alert, folder, wait_for};
use super::planted::{Planted, Written, planted};

fn notification(all: &[Planted]) -> String {
    let mut body: Value = serde_json::from_str(&alert("g", "f", "A", "web", None)).unwrap();
    let one = body["alerts"][0].clone();
    let alerts = all.iter().enumerate().map(|(place, planted)| {
        let mut one = one.clone();
        one["fingerprint"] = json!(place.to_string());
        one["labels"]["told"] = json!(planted.text);
        one["labels"]["alertname"] = json!(planted.text);
        one["annotations"] = json!({"summary": planted.text, "description": planted.text});
        one
    });
    body["alerts"] = alerts.collect();
    body["groupLabels"] = json!({"job": "web", "told": all[0].text});
    body["groupKey"] = json!(format!("{{}}:{{told=\"{}\"}}", all[0].text));
    body.to_string()
}

#[test]
fn no_secret_of_an_alert_is_sent_on_stored_or_shown() {
    let all = planted();
    let receiver = Receiver::start();
    let hooks: String = ["json", "slack", "markdown"]
        .iter()
        .map(|form| {
            let url = format!("http://127.0.0.1:{}/{form}", receiver.port);
            format!("[[webhook]]\nname = '{form}'\nurl = '{url}'\nformat = '{form}'\n")
        })
        .collect();
    let place = folder("[pace]\nsettle = '0s'\n", &hooks);
    let mut service = Service::start(place.path());
    let (status, told) = service.post("/alerts", &notification(&all)).unwrap();
    assert_eq!(status, 200, "{told}");
    let mut written = Written::default();
    for form in ["json", "slack", "markdown"] {
        let told = wait_for(|| receiver.of(form).first().cloned());
        written.text(form, &told.body);
    }
    let incidents = service.json("/incidents");
    written.text("incidents", &incidents.to_string());
    for path in ["/", "/metrics", "/readyz"] {
        written.text(path, &service.get(path).unwrap().1);
    }
    if let Some(investigation) = incidents["incidents"][0]["investigation"].as_str() {
        written.text("page", &service.get(&format!("/i/{investigation}")).unwrap().1);
    }
    service.kill();
    written.folder(&place.path().join("state"));
    written.check(&all, 5);
}

fn text(text: &str) -> Option<AnyValue> {
    Some(AnyValue { value: Some(any_value::Value::StringValue(text.to_owned())) })
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), value: text(value), ..KeyValue::default() }
}

fn resource(place: usize, one: &Planted) -> Option<Resource> {
    let attributes =
        vec![attribute("service.name", &format!("service-{place}")), attribute("told", &one.text)];
    Some(Resource { attributes, ..Resource::default() })
}

fn post(port: u16, path: &str, body: &[u8]) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
}

/// Each text in a span, a log record and a point of a metric, wherever they hold one.
fn send(port: u16, all: &[Planted], now: u64) {
    let told = |one: &Planted| {
        vec![
            attribute("told", &one.text),
            attribute("peer.service", &one.text),
            attribute("server.address", &one.text),
        ]
    };
    let spans = all.iter().enumerate().map(|(place, one)| ResourceSpans {
        resource: resource(place, one),
        scope_spans: vec![ScopeSpans {
            spans: vec![Span {
                trace_id: u128::try_from(place + 1).unwrap().to_be_bytes().to_vec(),
                span_id: u64::try_from(place + 1).unwrap().to_be_bytes().to_vec(),
                name: one.text.clone(),
                kind: 3,
                start_time_unix_nano: now,
                end_time_unix_nano: now + 1,
                attributes: told(one),
                status: Some(OtlpStatus { code: 2, message: one.text.clone() }),
                ..Span::default()
            }],
            ..ScopeSpans::default()
        }],
        ..ResourceSpans::default()
    });
    post(
        port,
        "/v1/traces",
        &ExportTraceServiceRequest { resource_spans: spans.collect() }.encode_to_vec(),
    );
    let lines = all.iter().enumerate().map(|(place, one)| ResourceLogs {
        resource: resource(place, one),
        scope_logs: vec![ScopeLogs {
            log_records: vec![LogRecord {
                time_unix_nano: now,
                severity_text: one.text.clone(),
                body: text(&one.text),
                attributes: told(one),
                ..LogRecord::default()
            }],
            ..ScopeLogs::default()
        }],
        ..ResourceLogs::default()
    });
    post(
        port,
        "/v1/logs",
        &ExportLogsServiceRequest { resource_logs: lines.collect() }.encode_to_vec(),
    );
    let points = all.iter().enumerate().map(|(place, one)| ResourceMetrics {
        resource: resource(place, one),
        scope_metrics: vec![ScopeMetrics {
            metrics: vec![Metric {
                name: format!("{}\nx.client.utilization", one.text),
                description: one.text.clone(),
                data: Some(metric::Data::Gauge(Gauge {
                    data_points: vec![NumberDataPoint {
                        attributes: told(one),
                        time_unix_nano: now,
                        value: Some(number_data_point::Value::AsDouble(0.5)),
                        ..NumberDataPoint::default()
                    }],
                })),
                ..Metric::default()
            }],
            ..ScopeMetrics::default()
        }],
        ..ResourceMetrics::default()
    });
    let points = ExportMetricsServiceRequest { resource_metrics: points.collect() };
    post(port, "/v1/metrics", &points.encode_to_vec());
}

#[test]
fn no_secret_that_is_received_is_stored_or_shown() {
    let all = planted();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = folder("[pace]\nsettle = '0s'\n", "");
    let source = format!("history = '30m'\n[otlp]\nlisten = ['127.0.0.1:{port}']\n");
    std::fs::write(place.path().join("source.toml"), source).unwrap();
    let mut service = Service::start(place.path());
    wait_for(|| TcpStream::connect(("127.0.0.1", port)).ok());
    send(port, &all, u64::try_from(eog::Timestamp::now().as_nanosecond()).unwrap());
    assert_eq!(service.post("/alerts", &alert("g", "1", "A", "service-0", None)).unwrap().0, 200);
    let captured = place.path().join("state/captures/in-000001-1");
    wait_for(|| captured.join("capture.json").exists().then_some(()));
    let mut written = Written::default();
    let id = wait_for(|| {
        let incidents = service.json("/incidents");
        incidents["incidents"][0]["investigation"].as_str().map(str::to_owned)
    });
    for path in ["/", "/metrics", "/incidents", &format!("/i/{id}")] {
        written.text(path, &service.get(path).unwrap().1);
    }
    service.kill();
    for file in ["logs.csv", "spans.csv", "metrics.csv"] {
        let text = std::fs::read_to_string(captured.join(file)).unwrap();
        assert!(text.matches("[masked]").count() >= all.len() / 2, "{file}: {text:.2000}");
    }
    written.folder(&place.path().join("state"));
    written.check(&all, 3);
}
