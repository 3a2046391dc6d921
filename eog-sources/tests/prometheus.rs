//! Captures from real servers: what is found, what is bounded, and what is said when they fail.

mod real;

use std::path::Path;
use std::time::Duration;

use eog_core::{Timestamp, Window};
use eog_evidence::Bundle;
use eog_sources::{CaptureError, CaptureReport, SourceConfig, capture, offers};
use real::shop::{BEGAN, FAULT, LASTS, at, shop};
use real::{Past, Server, get, post, program};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn config(text: &str) -> SourceConfig {
    SourceConfig::parse(text, "source.toml".as_ref()).expect("it is right")
}

async fn captured(config: &SourceConfig, out: &Path) -> Result<CaptureReport, CaptureError> {
    let window = Window::new(at(FAULT - 300), at(LASTS)).expect("a window");
    capture(config, Some(window), at(LASTS + 60), out, &|_| {}).await
}

fn start(folder: &Path, past: &Past) -> Option<Server> {
    let found = program("prometheus")?;
    past.write(folder);
    Some(Server::prometheus(&found, folder, "global:\n  scrape_interval: 1h\n"))
}

#[tokio::test]
async fn a_shop_is_captured_whole() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = start(folder.path(), &shop()) else { return };
    std::fs::write(
        folder.path().join("changes.jsonl"),
        r#"{"time":"2026-01-01T10:44:50Z","entity":"db","path":"flag","old":"off","new":"on"}"#,
    )
    .unwrap();
    let text = format!(
        "name = 'shop'\nhistory = '40m'\nchanges = ['changes.jsonl']\n[prometheus]\nurl = '{}'\n",
        server.url()
    );
    let file = folder.path().join("source.toml");
    let config = SourceConfig::parse(&text, &file).unwrap();
    let out = folder.path().join("out");
    let report = captured(&config, &out).await.unwrap();
    assert_eq!(report.missing, [""; 0]);
    let bundle = Bundle::read(&out).unwrap();
    let incident = bundle.incident();
    let entities: Vec<_> = incident.topology.entities().map(eog_core::EntityId::as_str).collect();
    assert_eq!(entities, ["cart", "db", "web"]);
    let edges: Vec<_> = incident
        .topology
        .edges()
        .map(|e| format!("{} {} {}", e.source, e.relation, e.target))
        .collect();
    assert_eq!(edges, ["cart calls db", "web calls cart"], "by the addresses that clients name");
    let [alert] = &incident.anomalies[..] else { panic!("{:?}", incident.anomalies) };
    assert_eq!((alert.name.as_str(), alert.entity.as_str()), ("HighErrorRate", "web"));
    assert_eq!(alert.onset, at(FAULT + 60), "since when it is so, not when it was sent");
    let changes: Vec<_> =
        incident.changes.iter().map(|c| (c.entity.as_str(), c.time.start())).collect();
    assert_eq!(changes, [("cart", at(600)), ("db", "2026-01-01T10:44:50Z".parse().unwrap())]);
    let metrics = std::fs::read_to_string(out.join("metrics.csv")).unwrap();
    for name in ["error rate", "mean duration", "requests", "up"] {
        assert!(metrics.contains(name), "{name}");
    }
    assert!(!out.join(".capture").exists(), "what was kept on the way is gone");
    // A second one gives the same bytes, and the first is not written over.
    let again = folder.path().join("again");
    captured(&config, &again).await.unwrap();
    for name in ["bundle.json", "alerts.json", "changes.json", "metrics.csv", "capture.json"] {
        let read = |out: &Path| std::fs::read(out.join(name)).unwrap();
        assert!(read(&out) == read(&again), "{name}");
    }
    let full = captured(&config, &out).await.unwrap_err().to_string();
    assert!(full.contains("finished capture"), "{full}");
}

#[tokio::test]
async fn many_series_are_bounded_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut past = Past::default();
    let up = |t: i64| (BEGAN + LASTS - t, 1.0);
    past.add("up", "gauge", "up{job=\"j\",instance=\"i:1\"}", (0..5).rev().map(|n| up(n * 15)));
    for number in 0..100_000 {
        let name = format!("http_requests_total{{job=\"j{number:06}\",code=\"200\"}}");
        let points = [(BEGAN + LASTS - 30, 1.0), (BEGAN + LASTS - 15, 2.0), (BEGAN + LASTS, 3.0)];
        past.add("http_requests", "counter", &name, points.into_iter());
    }
    let Some(server) = start(folder.path(), &past) else { return };
    let of = |more: &str| {
        config(&format!("history='10m'\n[prometheus]\nurl = '{}'\n{more}\n", server.url()))
    };
    let by_series = of("max_series = 1000");
    let report = captured(&by_series, &folder.path().join("a")).await.unwrap();
    let missing = report.missing.join("\n");
    assert!(
        missing.contains("100000 series, only the first 1000 are used (max_series)"),
        "{missing}"
    );
    let series = report.counts.iter().find(|(what, _)| what == "series").map_or(0, |it| it.1);
    // Of each, the rate and the share of errors; and `up`.
    assert_eq!(series, 2001);
    let by_bytes = of("max_bytes = 100000");
    let report = captured(&by_bytes, &folder.path().join("b")).await.unwrap();
    let missing = report.missing.join("\n");
    assert!(missing.contains("longer than max_bytes"), "{missing}");
    let by_all = config(&format!(
        "history='10m'\n[prometheus]\nurl = '{}'\n[limits]\nseries = 500\n",
        server.url()
    ));
    let report = captured(&by_all, &folder.path().join("c")).await.unwrap();
    let missing = report.missing.join("\n");
    assert!(missing.contains("beyond 500 series in all (limits.series)"), "{missing}");
}

#[tokio::test]
async fn a_long_range_is_asked_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = start(folder.path(), &shop()) else { return };
    let of = |more: &str| {
        config(&format!("history='40m'\n[prometheus]\nurl = '{}'\n{more}\n", server.url()))
    };
    let whole = folder.path().join("whole");
    captured(&of(""), &whole).await.unwrap();
    let parts = folder.path().join("parts");
    captured(&of("max_points = 10"), &parts).await.unwrap();
    let read = |out: &Path| std::fs::read_to_string(out.join("metrics.csv")).unwrap();
    assert!(read(&whole) == read(&parts), "parts give what the whole gives");
}

#[tokio::test]
async fn a_capture_that_was_interrupted_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = start(folder.path(), &shop()) else { return };
    let config = config(&format!("history='40m'\n[prometheus]\nurl = '{}'\n", server.url()));
    let whole = folder.path().join("whole");
    captured(&config, &whole).await.unwrap();
    let out = folder.path().join("out");
    let window = Window::new(at(FAULT - 300), at(LASTS)).unwrap();
    let (answered, enough) = (std::cell::Cell::new(0), tokio::sync::Notify::new());
    let stop_after_five = |line: &str| {
        answered.set(answered.get() + usize::from(line.starts_with("prometheus ")));
        if answered.get() == 5 {
            enough.notify_one();
        }
    };
    tokio::select! {
        biased;
        () = enough.notified() => {}
        ended = capture(&config, Some(window), at(LASTS + 60), &out, &stop_after_five) => {
            panic!("it ended by itself: {ended:?}")
        }
    }
    assert!(!out.join("capture.json").exists());
    let lines = std::cell::RefCell::new(Vec::new());
    let collect = |line: &str| lines.borrow_mut().push(line.to_owned());
    // An hour later, it still ends when it was to end at first.
    let later = at(LASTS + 3600);
    capture(&config, Some(window), later, &out, &collect).await.unwrap();
    let lines = lines.into_inner();
    assert!(lines[0].starts_with("going on"), "{lines:?}");
    assert!(
        !lines.iter().any(|line| line == "prometheus names"),
        "it is not asked again: {lines:?}"
    );
    for name in ["bundle.json", "metrics.csv", "capture.json"] {
        let read = |out: &Path| std::fs::read(out.join(name)).unwrap();
        assert!(read(&out) == read(&whole), "{name}");
    }
}

/// A server that speaks no HTTP, does so slowly, or fails.
async fn bad_server(answer: &'static str, pause: Duration) -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("its address").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                // A client that hangs up is not served.
                let _ = stream.read(&mut request).await;
                tokio::time::sleep(pause).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    port
}

#[tokio::test]
async fn servers_that_fail_are_reported_with_their_reason() {
    let folder = tempfile::tempdir().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let slow = bad_server("", Duration::from_secs(60)).await;
    let unavailable = "HTTP/1.1 500 E\r\nContent-Length: 41\r\nConnection: close\r\n\r\n\
                       {\"status\":\"error\",\"error\":\"disk is full\"}";
    let broken = bad_server(unavailable, Duration::ZERO).await;
    let html = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    let other = bad_server(html, Duration::ZERO).await;
    let elsewhere = "HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let moved = bad_server(elsewhere, Duration::ZERO).await;
    let cases = [
        (closed, "not reachable"),
        (slow, "no answer within 0.3 s"),
        (broken, "HTTP 500: disk is full"),
        (other, "answered with a web page"),
        (moved, "HTTP 302"),
    ];
    for (number, (port, expected)) in cases.into_iter().enumerate() {
        let text = format!(
            "[prometheus]\nurl = 'http://user:hunter2@127.0.0.1:{port}'\ntimeout = '300ms'\n"
        );
        let out = folder.path().join(number.to_string());
        let error = captured(&config(&text), &out).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(!out.exists(), "the next try begins anew");
        assert!(!error.contains("hunter2"), "{error}");
        let found = offers(&config(&text), at(LASTS)).await.unwrap();
        let reason = found[0].found.clone().unwrap_err();
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
}

#[tokio::test]
async fn alertmanager_describes_what_prometheus_saw_and_stands_in_when_that_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let Some(found) = program("prometheus-alertmanager") else { return };
    let alerts = Server::alertmanager(&found, folder.path());
    let Some(server) = start(folder.path(), &shop()) else { return };
    let now = Timestamp::now();
    let alert = format!(
        r#"[{{"labels": {{"alertname": "HighErrorRate", "job": "web", "severity": "page"}},
            "annotations": {{"description": "too many errors, password=hunter2"}},
            "startsAt": "{}"}}]"#,
        at(FAULT + 120)
    );
    let answer = post(alerts.port, "/api/v2/alerts", &alert).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let listed = || get(alerts.port, "/api/v2/alerts").unwrap_or_default();
    while !listed().contains("HighErrorRate") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (prometheus, alertmanager) = (server.url(), alerts.url());
    let both = config(&format!(
        "history='40m'\n[prometheus]\nurl = '{prometheus}'\n[alertmanager]\nurl = '{alertmanager}'\n"
    ));
    let out = folder.path().join("both");
    captured(&both, &out).await.unwrap();
    let incident = Bundle::read(&out).unwrap().incident();
    let [alert] = &incident.anomalies[..] else { panic!("{:?}", incident.anomalies) };
    assert_eq!(alert.description, "too many errors, password=[masked]");
    assert_eq!(alert.onset, at(FAULT + 60));
    for file in std::fs::read_dir(&out).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
    }
    let offer = offers(&both, now).await.unwrap();
    assert!(offer.iter().all(|one| one.found.is_ok()), "{offer:?}");
    // With Prometheus away, its alerts are still known, and what is missing is reported.
    drop(server);
    let out = folder.path().join("one");
    let report = captured(&both, &out).await.unwrap();
    let missing = report.missing.join("\n");
    assert!(missing.contains("prometheus: the names of metrics: not reachable"), "{missing}");
    let incident = Bundle::read(&out).unwrap().incident();
    assert_eq!(incident.anomalies.len(), 1, "{report:?}");
}

#[tokio::test]
async fn machines_are_read_from_a_node_exporter() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(prometheus), Some(exporter)) =
        (program("prometheus"), program("prometheus-node-exporter"))
    else {
        return;
    };
    let exporter = Server::node_exporter(&exporter);
    let settings = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: node\n    static_configs:\n      - targets: ['127.0.0.1:{}']\n",
        exporter.port
    );
    let server = Server::prometheus(&prometheus, folder.path(), &settings);
    let query = "/api/v1/query?query=count_over_time(node_uname_info%5B5m%5D)%20%3E%208";
    while !get(server.port, query).unwrap_or_default().contains("\"value\"") {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let text = format!("history='5m'\n[prometheus]\nurl = '{}'\n", server.url());
    let out = folder.path().join("out");
    let report = capture(&config(&text), None, Timestamp::now(), &out, &|_| {}).await.unwrap();
    assert_eq!(report.missing, [""; 0]);
    let metrics = std::fs::read_to_string(out.join("metrics.csv")).unwrap();
    for name in ["node_cpu_used_ratio", "node_memory_used_ratio", "up"] {
        assert!(
            metrics.lines().any(|line| line.contains(name) && line.contains("Host/")),
            "{name}"
        );
    }
    let values = metrics.lines().filter(|line| line.contains("node_memory_used_ratio"));
    let mut values = values.map(|line| line.split(',').nth(3).unwrap().parse::<f64>().unwrap());
    assert!(values.all(|share| (0.0..=1.0).contains(&share)));
}
