//! OTLP into `eog serve --on-call`: by OpenTelemetry's own SDK for Python, by eog itself, and by a flood.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span, Status as OtlpStatus,
};
use prost::Message as _;

use crate::common::{FLASH_SALE, Run, command, post_protobuf, read};
use crate::on_call_lab::{Service, alert, folder, wait_for};

/// A service that receives at a port.
fn receiving(more: &str) -> (tempfile::TempDir, Service, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = folder("[pace]\nsettle = '0s'\n", "");
    let source = format!("history = '30m'\n[otlp]\nlisten = ['127.0.0.1:{port}']\n{more}");
    std::fs::write(folder.path().join("source.toml"), source).unwrap();
    let service = Service::start(folder.path());
    wait_for(|| TcpStream::connect(("127.0.0.1", port)).ok());
    (folder, service, port)
}

/// What was captured for an alert: the texts of its files.
fn captured(folder: &Path, service: &Service, job: &str) -> String {
    service.takes(&alert("g", "1", "A", job, None));
    let out = folder.join("state/captures/in-000001-1");
    wait_for(|| out.join("capture.json").exists().then_some(()));
    let files = out.read_dir().unwrap().flatten().map(|it| it.path()).filter(|it| it.is_file());
    files.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// Where `.ci/interop` has put the SDK.
fn python() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| here.join("target"), |target| here.join(target));
    let python = target.join("interop/otel/bin/python");
    if !python.exists() {
        eprintln!("skipped: OpenTelemetry's SDK is not installed (.ci/interop)");
        return None;
    }
    Some(python)
}

#[test]
fn what_the_sdk_sends_by_either_protocol_is_captured_masked() {
    let Some(python) = python() else { return };
    let (folder, service, port) = receiving("");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../eog-sources/tests/interop/send.py");
    for (protocol, compression) in [("grpc", Some("gzip")), ("http", Some("gzip")), ("grpc", None)]
    {
        let mut send = Command::new(&python);
        send.arg(&script).env("PROTOCOL", protocol).env("NO_PROXY", "127.0.0.1");
        send.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{port}"));
        send.envs(compression.map(|it| ("OTEL_EXPORTER_OTLP_COMPRESSION", it)));
        let sent = Run::of(&mut send).exits(0);
        assert!(!sent.err.contains("Failed to export"), "{sent:?}");
    }
    let all = captured(folder.path(), &service, "shop/cart-grpc");
    assert!(!all.contains("hunter2"), "{all}");
    for name in ["shop/cart-grpc", "shop/cart-http"] {
        for expected in ["GET /cart", "SELECT", "login with password=[masked] failed"] {
            let is_there = all.lines().any(|it| it.contains(name) && it.contains(expected));
            assert!(is_there, "{name}: {expected}\n{all}");
        }
        for measured in ["error rate", "mean duration", "requests"] {
            let metric = format!("http.server.request.duration {measured}");
            assert!(
                all.lines().any(|it| it.contains(name) && it.contains(&metric)),
                "{metric}\n{all}"
            );
        }
    }
    let figures = service.get("/metrics").unwrap().1;
    // Of three runs each, ten times two spans, a line, and the points of two exports or more.
    assert!(figures.contains("eog_otlp{kind=\"refused\"} 0"), "{figures}");
    assert!(figures.contains("eog_otlp{kind=\"dropped\"} 0"), "{figures}");
}

#[test]
fn eog_exports_what_it_does_where_an_endpoint_is_named() {
    let (folder, service, port) = receiving("");
    let run = |endpoint: Option<String>, more: &[&str]| {
        let mut command = command!("investigate", FLASH_SALE, more);
        command.current_dir(folder.path()).env("NO_PROXY", "127.0.0.1");
        for name in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] {
            command.env_remove(name);
        }
        Run::of(command.envs(endpoint.map(|it| ("OTEL_EXPORTER_OTLP_ENDPOINT", it)))).exits(0)
    };
    let quiet = run(None, &["--format", "json"]);
    let away = run(Some("http://127.0.0.1:9".to_owned()), &["--format", "json"]);
    assert!(quiet.out == away.out, "an endpoint that is away changes nothing");
    run(Some(format!("http://127.0.0.1:{port}")), &["--out", "traced"]);
    let all = captured(folder.path(), &service, "eog");
    let spans = |name: &str| {
        let of = format!("{name} ");
        all.lines().filter(|line| line.contains("eog") && line.contains(&of)).count()
    };
    assert_eq!(spans("investigate flash"), 1, "{all}");
    assert_eq!(spans("evaluate"), 16, "as many as the report says\n{all}");
    assert!(spans("get_context") >= 7, "{all}");
}

/// Sends spans by HTTP.
fn send(port: u16, spans: Vec<ResourceSpans>) -> usize {
    let body = ExportTraceServiceRequest { resource_spans: spans }.encode_to_vec();
    post_protobuf(port, "/v1/traces", &body);
    body.len()
}

/// Spans of one service.
fn of_service(name: &str, spans: Vec<Span>) -> ResourceSpans {
    let value = AnyValue { value: Some(any_value::Value::StringValue(name.to_owned())) };
    let name =
        KeyValue { key: "service.name".to_owned(), value: Some(value), ..Default::default() };
    ResourceSpans {
        resource: Some(Resource { attributes: vec![name], ..Resource::default() }),
        scope_spans: vec![ScopeSpans { spans, ..ScopeSpans::default() }],
        ..ResourceSpans::default()
    }
}

#[test]
fn an_investigation_of_what_was_captured_of_the_window_has_the_ledger_of_the_live_one() {
    const SECOND: u64 = 1_000_000_000;
    let (folder, service, port) = receiving("");
    let at = folder.path();
    let source = read(at.join("source.toml"));
    drop(service);
    std::fs::write(at.join("source.toml"), format!("changes = ['changes.jsonl']\n{source}"))
        .unwrap();
    let now = eog::Timestamp::now();
    let change = eog::Timestamp::from_second(now.as_second() - 130).unwrap();
    std::fs::write(
        at.join("changes.jsonl"),
        format!("{{\"time\":\"{change}\",\"entity\":\"cart\",\"path\":\"pool\",\"old\":\"20\",\"new\":\"2\"}}\n"),
    )
    .unwrap();
    let service = Service::start(at);
    wait_for(|| TcpStream::connect(("127.0.0.1", port)).ok());
    let now = u64::try_from(now.as_nanosecond()).unwrap();
    // Each second `web` asks `cart`, which fails since two minutes.
    let pair = |number: u64| {
        let fails = number < 120;
        let begin = now - number * SECOND;
        let span = |id: u64, parent: Option<u64>, kind: i32| Span {
            trace_id: u128::from(number + 1).to_be_bytes().to_vec(),
            span_id: id.to_be_bytes().to_vec(),
            parent_span_id: parent.map(|it| it.to_be_bytes().to_vec()).unwrap_or_default(),
            name: "GET /cart".to_owned(),
            kind,
            start_time_unix_nano: begin,
            end_time_unix_nano: begin + if fails { SECOND / 2 } else { SECOND / 100 },
            status: fails.then(|| OtlpStatus { code: 2, ..OtlpStatus::default() }),
            ..Span::default()
        };
        (span(2 * number + 1, None, 3), span(2 * number + 2, Some(2 * number + 1), 2))
    };
    let (web, cart): (Vec<_>, Vec<_>) = (1..1_200).map(pair).unzip();
    send(port, vec![of_service("web", web), of_service("cart", cart)]);
    service.takes(&alert("g", "1", "HighErrorRate", "web", None));
    let incident = service.incident(|one| one["stage"] == "firing");
    assert_eq!(incident["causes"], serde_json::json!(["cart"]), "{incident:#}");
    let live = std::fs::read(at.join("state/inv-000001/ledger.jsonl")).unwrap();
    let mut again = command!("investigate", "state/captures/in-000001-1", "--out", "again");
    Run::of(again.current_dir(at)).exits(0);
    let again = std::fs::read(at.join("again/ledger.jsonl")).unwrap();
    assert!(live == again, "byte for byte");
}

#[test]
fn a_flood_is_bounded() {
    const MOST: u64 = 64 << 20;
    let (_folder, service, port) = receiving(&format!("window_bytes = {MOST}"));
    let now = u64::try_from(eog::Timestamp::now().as_nanosecond()).unwrap();
    let mut number = 0_u64;
    let mut sent = 0;
    for _ in 0..200 {
        let span = |number: u64| Span {
            trace_id: u128::from(number).to_be_bytes().to_vec(),
            span_id: number.to_be_bytes().to_vec(),
            name: format!("operation {number} {}", "x".repeat(150)),
            start_time_unix_nano: now,
            end_time_unix_nano: now + 1,
            ..Span::default()
        };
        let spans: Vec<Span> = (0..2_000).map(|at| span(number + at + 1)).collect();
        number += 2_000;
        sent += send(port, vec![of_service("web", spans)]);
    }
    let figures = service.get("/metrics").unwrap().1;
    let figure = |kind: &str| -> u64 {
        let name = format!("eog_otlp{{kind=\"{kind}\"}} ");
        figures.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap()
    };
    assert_eq!(figure("taken"), number);
    assert_eq!(figure("held") + figure("dropped"), number);
    assert!(figure("dropped") > 0 && figure("held_bytes") <= MOST, "{figures}");
    let peak = service.peak_kib();
    println!(
        "{number} spans, {} MiB, into a window of {} MiB: {} held in {} MiB by its own count, peak memory {} MiB",
        sent >> 20,
        MOST >> 20,
        figure("held"),
        figure("held_bytes") >> 20,
        peak / 1024
    );
    assert!(peak * 1024 < 3 * MOST + (64 << 20), "{peak} KiB");
}
