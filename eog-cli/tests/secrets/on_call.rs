//! A service on call: alerts that are sent to it, messages that it sends, and what it stores and shows.

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
use serde_json::json;

use super::on_call_lab::{Receiver, Service, alert, folder, wait_for};
use super::planted::{Planted, Written, planted};
use crate::common::{json_of, post_protobuf};

fn notification(all: &[Planted]) -> String {
    let mut body = json_of(&alert("g", "f", "A", "web", None));
    let one = body["alerts"][0].clone();
    let alerts = all.iter().enumerate().map(|(place, planted)| {
        let mut one = one.clone();
        one["fingerprint"] = json!(place.to_string());
        one["labels"]["memo"] = json!(planted.text);
        one["labels"]["alertname"] = json!(planted.text);
        one["annotations"] = json!({"summary": planted.text, "description": planted.text});
        one
    });
    body["alerts"] = alerts.collect();
    body["groupLabels"] = json!({"job": "web", "memo": all[0].text});
    body["groupKey"] = json!(format!("{{}}:{{memo=\"{}\"}}", all[0].text));
    body.to_string()
}

#[test]
fn no_secret_of_an_alert_is_sent_on_stored_or_shown() {
    let all = planted();
    let receiver = Receiver::start();
    let hooks: String = ["json", "slack", "markdown"]
        .iter()
        .map(|form| format!("{}format = '{form}'\n", receiver.hook(form)))
        .collect();
    let place = folder("[pace]\nsettle = '0s'\n", &hooks);
    let mut service = Service::start(place.path());
    service.takes(&notification(&all));
    let mut written = Written::default();
    for form in ["json", "slack", "markdown"] {
        written.text(form, &receiver.nth(form, 0).body);
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
        vec![attribute("service.name", &format!("service-{place}")), attribute("memo", &one.text)];
    Some(Resource { attributes, ..Resource::default() })
}

/// Each text in a span, a log record and a point of a metric, wherever they hold one.
fn send(port: u16, all: &[Planted], now: u64) {
    let attributes = |one: &Planted| {
        vec![
            attribute("memo", &one.text),
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
                attributes: attributes(one),
                status: Some(OtlpStatus { code: 2, message: one.text.clone() }),
                ..Span::default()
            }],
            ..ScopeSpans::default()
        }],
        ..ResourceSpans::default()
    });
    let spans = ExportTraceServiceRequest { resource_spans: spans.collect() };
    post_protobuf(port, "/v1/traces", &spans.encode_to_vec());
    let lines = all.iter().enumerate().map(|(place, one)| ResourceLogs {
        resource: resource(place, one),
        scope_logs: vec![ScopeLogs {
            log_records: vec![LogRecord {
                time_unix_nano: now,
                severity_text: one.text.clone(),
                body: text(&one.text),
                attributes: attributes(one),
                ..LogRecord::default()
            }],
            ..ScopeLogs::default()
        }],
        ..ResourceLogs::default()
    });
    let lines = ExportLogsServiceRequest { resource_logs: lines.collect() };
    post_protobuf(port, "/v1/logs", &lines.encode_to_vec());
    let points = all.iter().enumerate().map(|(place, one)| ResourceMetrics {
        resource: resource(place, one),
        scope_metrics: vec![ScopeMetrics {
            metrics: vec![Metric {
                name: format!("{}\nx.client.utilization", one.text),
                description: one.text.clone(),
                data: Some(metric::Data::Gauge(Gauge {
                    data_points: vec![NumberDataPoint {
                        attributes: attributes(one),
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
    post_protobuf(port, "/v1/metrics", &points.encode_to_vec());
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
    service.takes(&alert("g", "1", "A", "service-0", None));
    let captured = place.path().join("state/captures/in-000001-1");
    wait_for(|| captured.join("capture.json").exists().then_some(()));
    let mut written = Written::default();
    let incident = service.incident(|one| one["investigation"].is_string());
    let page = format!("/i/{}", incident["investigation"].as_str().unwrap());
    for path in ["/", "/metrics", "/incidents", &page] {
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
