//! Jaeger, Tempo, Alertmanager and files of OpenTelemetry from the command line: live equals the capture, and a
//! capture that was killed goes on. The servers are scripted: no package of Debian has those of traces.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Asked, Run, answering, command, signal, start};

/// The window around the fault.
const WINDOW: &str = "2026-01-01T10:40:00Z/2026-01-01T11:00:00Z";

/// When the fault is: 2026-01-01T10:46:00Z, in seconds since 1970.
const FAULT: u64 = 1_767_264_360;

/// A server, what it was asked, and from which question on it says nothing.
#[derive(Clone, Default)]
struct Scripted(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    asked: usize,
    silent_from: Option<usize>,
}

impl Scripted {
    fn start() -> (Self, u16) {
        let server = Self::default();
        let shared = server.clone();
        let port = answering(move |asked| shared.answer(asked));
        (server, port)
    }

    fn answer(&self, asked: &Asked) -> (u16, String) {
        let (path, _) = asked.address();
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        let number = state.asked;
        state.asked += 1;
        changed.notify_all();
        while state.silent_from.is_some_and(|from| number >= from) {
            state = changed.wait(state).unwrap();
        }
        (200, said(path).to_string())
    }

    fn asked(&self) -> usize {
        self.0.0.lock().unwrap().asked
    }

    fn silent_from(&self, from: Option<usize>) {
        let mut state = self.0.0.lock().unwrap();
        state.silent_from = from;
        state.asked = 0;
        self.0.1.notify_all();
    }

    /// Waits until it was asked so much.
    fn wait(&self, count: usize) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        while state.asked < count {
            let (next, waited) = changed.wait_timeout(state, Duration::from_secs(60)).unwrap();
            assert!(!waited.timed_out(), "only {} questions", next.asked);
            state = next;
        }
    }
}

/// What is answered at an address: `web` asks `cart`, which fails from the fault on.
fn said(path: &str) -> Value {
    match path {
        "/api/v2/alerts" => json!([{
            "labels": {"alertname": "HighErrorRate", "service": "web", "severity": "page"},
            "annotations": {"description": "requests fail, password=hunter2"}, "fingerprint": "1",
            "startsAt": "2026-01-01T10:47:00Z", "endsAt": "2026-01-01T12:00:00Z", "status": {"state": "active"},
        }]),
        "/jaeger/api/services" => json!({"data": ["web", "cart"]}),
        "/jaeger/api/traces" => json!({"data": (0..60).map(jaeger).collect::<Vec<_>>()}),
        "/tempo/api/search" => json!({"traces": [{"traceID": "2f3e0cee77ae5dc9c17ade3689eb2e54"}]}),
        path if path.starts_with("/tempo/api/traces/") => tempo(),
        _ => json!([]),
    }
}

/// A trace of Jaeger, each minute of the hour.
fn jaeger(minute: u64) -> Value {
    let at = (FAULT - 46 * 60 + minute * 60) * 1_000_000;
    let fails = minute >= 46;
    let span = |id: &str, parent: Option<&str>, kind: &str, process: &str| {
        let references: Vec<Value> =
            parent.iter().map(|it| json!({"refType": "CHILD_OF", "spanID": it})).collect();
        json!({
            "traceID": format!("{minute:032x}"), "spanID": format!("{minute:08x}{id}"),
            "references": references, "operationName": "GET /",
            "startTime": at, "duration": if fails { 250_000 } else { 2_500 }, "processID": process,
            "tags": [{"key": "span.kind", "value": kind}, {"key": "error", "value": fails}],
        })
    };
    let asked = format!("{minute:08x}aaaa");
    json!({
        "traceID": format!("{minute:032x}"),
        "spans": [span("aaaa", None, "client", "p1"), span("bbbb", Some(&asked), "server", "p2")],
        "processes": {"p1": {"serviceName": "web"}, "p2": {"serviceName": "cart"}},
    })
}

/// A trace of Tempo: `cart` asks `db`.
fn tempo() -> Value {
    let nano = FAULT * 1_000_000_000;
    let span = |service: &str, id: &str, parent: &str, kind: &str| {
        json!({
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
            "scopeSpans": [{"spans": [{
                "traceId": "Lz4M7neuXcnBet42iesuVA==", "spanId": id, "parentSpanId": parent, "name": "SELECT",
                "kind": format!("SPAN_KIND_{kind}"), "startTimeUnixNano": nano.to_string(),
                "endTimeUnixNano": (nano + 5_000_000).to_string(), "status": {"code": "STATUS_CODE_ERROR"},
            }]}],
        })
    };
    json!({"batches": [span("cart", "qqqqqg==", "", "CLIENT"), span("db", "u7u7uw==", "qqqqqg==", "SERVER")]})
}

/// A line of the collector's file exporter, with a secret in it.
fn log_line() -> String {
    let record = json!({
        "timeUnixNano": (FAULT * 1_000_000_000).to_string(), "severityText": "ERROR",
        "body": {"stringValue": "login with password=hunter2 failed"},
    });
    let resource =
        json!({"attributes": [{"key": "service.name", "value": {"stringValue": "cart"}}]});
    json!({"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [record]}]}]})
        .to_string()
}

/// A folder with a `source.toml` for a server.
fn folder(port: u16) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "changes.jsonl",
        r#"{"time":"2026-01-01T10:45:50Z","entity":"cart","path":"pool","old":"20","new":"2"}"#,
    );
    write("logs.json", &log_line());
    let at = format!("http://127.0.0.1:{port}");
    write(
        "source.toml",
        &format!(
            "name = 'shop'\nhistory = '40m'\nchanges = ['changes.jsonl']\n[limits]\nconcurrency = 1\n\
             [alertmanager]\nurl = '{at}'\n[jaeger]\nurl = '{at}/jaeger'\nparts = 4\n\
             [tempo]\nurl = '{at}/tempo'\nparts = 3\n[otlp]\nfiles = ['logs.json']\n"
        ),
    );
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Run {
    Run::of(command!(arguments).current_dir(folder))
}

/// All files of a folder and of those within.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in folder.read_dir().unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => all.extend(files(&path)),
            path => {
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                all.push((path.file_name().unwrap().to_string_lossy().into_owned(), text));
            }
        }
    }
    all.sort();
    all
}

const CAPTURE: [&str; 7] =
    ["capture", "--from", "source.toml", "--window", WINDOW, "--out", "shop"];

#[test]
fn an_investigation_of_traces_and_lines_has_the_ledger_of_a_live_one() {
    let (_server, port) = Scripted::start();
    let folder = folder(port);
    let at = folder.path();
    let captured = run(at, &CAPTURE).exits(0);
    assert!(!captured.out.contains("missing"), "{captured:?}");
    for (name, text) in files(&at.join("shop")) {
        assert!(!text.contains("hunter2"), "{name}");
    }
    let spans = std::fs::read_to_string(at.join("shop/spans.csv")).unwrap();
    assert!(spans.contains("db") && spans.contains("web"), "of both: {spans}");
    run(at, &["investigate", "shop", "--out", "of-capture"]).exits(0).prints(&["cart"]);
    run(at, &["investigate", "source.toml", "--window", WINDOW, "--out", "of-live"]).exits(0);
    let read = |name: &str| std::fs::read(at.join(name).join("ledger.jsonl")).unwrap();
    assert!(read("of-capture") == read("of-live"), "byte for byte");
}

#[test]
fn an_investigation_of_live_sources_is_closed_with_what_was_captured_for_it() {
    let (server, port) = Scripted::start();
    let folder = folder(port);
    let at = folder.path();
    let out = ["--journal", "run.journal", "--out", "out"];
    let window = ["--window", WINDOW];
    run(at, &[&["investigate", "source.toml"], &window[..], &out].concat()).exits(0);
    let asked = server.asked();
    let kept = ["ledger and incident", "gives the same ledger"];
    let close = |what: &[&str]| run(at, &[&["close"], what, &["--cause", "db"]].concat());
    close(&["run.journal"]).exits(0).prints(&kept);
    close(&["run.journal", "source.toml", "--replace"]).exits(0).prints(&kept);
    run(at, &["cases", "check"]).exits(0).prints(&["1 case checked", "1 identical"]);
    assert_eq!(server.asked(), asked, "live sources say something else by now");
    // Beside a ledger alone there is nothing captured.
    close(&["out", "source.toml", "--replace"]).exits(4).says(&[
        "no finished capture beside",
        "give the journal of the run",
        "omit source.toml",
    ]);
    close(&["out", "--replace"]).exits(0).prints(&["the ledger alone"]);
    close(&["out", "run.journal.capture", "--replace"]).exits(0).prints(&kept);
}

#[test]
fn a_capture_that_was_interrupted_or_killed_goes_on_and_holds_no_secret_meanwhile() {
    const ANSWERED: usize = 5;
    let (server, port) = Scripted::start();
    let undisturbed = folder(port);
    run(undisturbed.path(), &CAPTURE).exits(0);
    let whole = files(&undisturbed.path().join("shop"));
    let all = server.asked();
    for name in ["-INT", "-KILL"] {
        let folder = folder(port);
        let at = folder.path();
        server.silent_from(Some(ANSWERED));
        let child = start(command!(CAPTURE).current_dir(at));
        server.wait(ANSWERED + 1);
        signal(name, &child);
        let ended = Run::from(child.wait_with_output().unwrap());
        if name == "-INT" {
            ended.exits(130).says(&["run the same command again to continue"]);
        }
        let partial = files(&at.join("shop"));
        assert!(!partial.is_empty() && !at.join("shop/capture.json").exists());
        for (file, text) in &partial {
            assert!(!text.contains("hunter2"), "{file}: {text}");
        }
        server.silent_from(None);
        run(at, &CAPTURE).exits(0);
        assert_eq!(files(&at.join("shop")), whole, "{name}");
        let asked = server.asked();
        assert!(asked < all, "{asked} of {all}: what was answered is not asked again");
    }
}
