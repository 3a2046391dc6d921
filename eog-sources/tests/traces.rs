//! Captures of traces and log lines: files of OpenTelemetry, Jaeger and Tempo, whose servers are scripted
//! here, since no package of Debian has one.

use eog_core::Timestamp;
use eog_evidence::Bundle;
use eog_sources::{SourceConfig, capture, offers};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn now() -> Timestamp {
    "2026-01-01T11:00:00Z".parse().expect("a time")
}

/// A batch as the collector writes it: `web` asks `cart` at a second after ten o'clock.
fn batch(second: u64) -> String {
    let at = (1_767_261_600 + second) * 1_000_000_000;
    let span = |service: &str, id: &str, parent: &str, kind: u8| {
        format!(
            r#"{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"{service}"}}}}]}},"scopeSpans":[{{"spans":[{{"traceId":"{at:032x}","spanId":"{id}","parentSpanId":"{parent}","name":"GET /","kind":{kind},"startTimeUnixNano":"{at}","endTimeUnixNano":"{}","status":{{}}}}]}}]}}"#,
            at + 5_000_000
        )
    };
    let (web, cart) = (span("web", "aaaa", "", 3), span("cart", "bbbb", "aaaa", 2));
    format!("{{\"resourceSpans\":[{web},{cart}]}}\n")
}

#[tokio::test]
async fn files_of_the_collector_become_spans_and_lines() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("otel")).unwrap();
    let spans: String = (0..600).map(batch).collect();
    std::fs::write(folder.path().join("otel/traces.jsonl"), spans).unwrap();
    let log = r#"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},"scopeLogs":[{"logRecords":[{"timeUnixNano":"1767261700000000000","severityText":"ERROR","body":{"stringValue":"login with password=hunter2 failed"}}]}]}]}"#;
    std::fs::write(folder.path().join("otel/logs.json"), log).unwrap();
    let file = folder.path().join("source.toml");
    let config = SourceConfig::parse("[otlp]\nfiles = ['otel']\n", &file).unwrap();
    let out = folder.path().join("out");
    let report = capture(&config, None, now(), &out, &|_| {}).await.unwrap();
    assert_eq!(report.missing, [""; 0]);
    let incident = Bundle::read(&out).unwrap().incident();
    let edges =
        incident.topology.edges().map(|e| format!("{} {} {}", e.source, e.relation, e.target));
    assert_eq!(edges.collect::<Vec<_>>(), ["web calls cart"]);
    let spans = std::fs::read_to_string(out.join("spans.csv")).unwrap();
    assert_eq!(spans.lines().count(), 1201);
    let logs = std::fs::read_to_string(out.join("logs.csv")).unwrap();
    assert!(logs.contains("password=[masked]") && !logs.contains("hunter2"), "{logs}");
    let found = offers(&config, now()).await.unwrap();
    assert!(found[0].found.as_ref().unwrap()[0].starts_with("2 files of "), "{found:?}");
}

/// Answers every question for services with two, and every one for traces with the same trace.
async fn scripted() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("its address").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 8192];
            let read = stream.read(&mut request).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let body = match request.starts_with("GET /jaeger/api/services") {
                true => r#"{"data":["web","cart"]}"#,
                false => {
                    r#"{"data":[{"traceID":"t","spans":[
                    {"traceID":"t","spanID":"a","operationName":"GET","startTime":1767261600000000,"duration":2500,
                     "tags":[{"key":"span.kind","value":"client"},{"key":"error","value":true}],"processID":"p1"},
                    {"traceID":"t","spanID":"b","references":[{"refType":"CHILD_OF","spanID":"a"}],"startTime":1767261600000100,
                     "duration":2000,"tags":[{"key":"span.kind","value":"server"}],"processID":"p2"}],
                     "processes":{"p1":{"serviceName":"web"},"p2":{"serviceName":"cart"}}}]}"#
                }
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            // A client that hangs up is not served.
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
        }
    });
    port
}

#[tokio::test]
async fn traces_of_jaeger_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{}/jaeger/", scripted().await);
    let text = format!("[jaeger]\nurl = '{url}'\nparts = 3\n");
    let config = SourceConfig::parse(&text, "source.toml".as_ref()).unwrap();
    let out = folder.path().join("out");
    let report = capture(&config, None, now(), &out, &|_| {}).await.unwrap();
    assert_eq!(report.sources[0].asked, 7, "the services, and three parts of each");
    let spans = std::fs::read_to_string(out.join("spans.csv")).unwrap();
    assert_eq!(spans.lines().count(), 3, "{spans}");
    let found = offers(&config, now()).await.unwrap();
    assert_eq!(found[0].found, Ok(vec!["2 services: cart, web".to_owned()]));
}

/// Answers as Tempo does: a search that finds the same trace in each part, and the trace, whose ids are in base64.
async fn tempo() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("its address").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 8192];
            let read = stream.read(&mut request).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let (status, body) = if !request.to_lowercase().contains("x-scope-orgid: shop") {
                (401, "no org id".to_owned())
            } else if request.starts_with("GET /api/search?q=%7B%7D&") {
                let hits = r#"{"traces":[{"traceID":"2f3e0cee77ae5dc9c17ade3689eb2e54"},{"traceID":"../../admin"}]}"#;
                (200, hits.to_owned())
            } else if request.starts_with("GET /api/traces/2f3e0cee77ae5dc9c17ade3689eb2e54 ") {
                let span = |service: &str, id: &str, parent: &str, kind: &str, nano: u64| {
                    format!(
                        r#"{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"{service}"}}}}]}},"scopeSpans":[{{"spans":[{{"traceId":"Lz4M7neuXcnBet42iesuVA==","spanId":"{id}","parentSpanId":"{parent}","name":"GET /","kind":"SPAN_KIND_{kind}","startTimeUnixNano":"{nano}","endTimeUnixNano":"{}","status":{{"code":"STATUS_CODE_ERROR"}}}}]}}]}}"#,
                        nano + 5_000_000
                    )
                };
                let (web, cart) = (
                    span("web", "qqqqqg==", "", "CLIENT", 1_767_261_600_000_000_000),
                    span("cart", "u7u7uw==", "qqqqqg==", "SERVER", 1_767_261_600_001_000_000),
                );
                (200, format!(r#"{{"batches":[{web},{cart}]}}"#))
            } else {
                (404, "no such page".to_owned())
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
            );
            // A client that hangs up is not served.
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
        }
    });
    port
}

#[tokio::test]
async fn traces_of_tempo_are_searched_and_asked_for_once() {
    let folder = tempfile::tempdir().unwrap();
    let port = tempo().await;
    let text = format!(
        "[tempo]\nurl = 'http://127.0.0.1:{port}'\nparts = 3\nheaders = {{ X-Scope-OrgID = 'shop' }}\n"
    );
    let config = SourceConfig::parse(&text, "source.toml".as_ref()).unwrap();
    let out = folder.path().join("out");
    let report = capture(&config, None, now(), &out, &|_| {}).await.unwrap();
    assert_eq!(report.missing, [""; 0]);
    assert_eq!(report.sources[0].asked, 4, "three searches, and the trace once");
    let incident = Bundle::read(&out).unwrap().incident();
    let edges =
        incident.topology.edges().map(|e| format!("{} {} {}", e.source, e.relation, e.target));
    assert_eq!(edges.collect::<Vec<_>>(), ["web calls cart"]);
    let found = offers(&config, now()).await.unwrap();
    assert!(found[0].found.as_ref().unwrap()[0].starts_with("1 traces from "), "{found:?}");
    let stranger = SourceConfig::parse(
        &format!("[tempo]\nurl = 'http://127.0.0.1:{port}'\n"),
        "source.toml".as_ref(),
    );
    let refused = offers(&stranger.unwrap(), now()).await.unwrap();
    assert_eq!(refused[0].found, Err("HTTP 401: no org id".to_owned()));
}
