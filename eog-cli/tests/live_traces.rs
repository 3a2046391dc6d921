//! Jaeger, Tempo, Alertmanager and files of OpenTelemetry from the command line: live equals the capture, and a
//! capture that was killed goes on. The servers are scripted: no package of Debian has those of traces.

use crate::common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use common::eog;
use serde_json::{Value, json};

/// The window around the fault.
const WINDOW: &str = "2026-01-01T10:40:00Z/2026-01-01T11:00:00Z";

/// When the fault is: 2026-01-01T10:46:00Z, in seconds since 1970.
const FAULT: u64 = 1_767_264_360;

/// A server, what it was asked, and from which question on it says nothing.
#[derive(Clone, Default)]
struct Scripted(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    asked: Vec<String>,
    silent_from: Option<usize>,
}

impl Scripted {
    fn start() -> (Self, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self::default();
        let shared = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                std::thread::spawn(move || shared.answer(&stream));
            }
        });
        (server, port)
    }

    fn answer(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let (mut line, mut header) = (String::new(), String::new());
        reader.read_line(&mut line).ok()?;
        while reader.read_line(&mut header).ok()? > 2 {
            header.clear();
        }
        let address = line.split(' ').nth(1)?.to_owned();
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        let number = state.asked.len();
        state.asked.push(address.clone());
        changed.notify_all();
        while state.silent_from.is_some_and(|from| number >= from) {
            state = changed.wait(state).unwrap();
        }
        drop(state);
        let body = said(address.split('?').next()?).to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
        let length = body.len();
        stream
            .write_all(format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes())
            .ok()
    }

    fn asked(&self) -> Vec<String> {
        self.0.0.lock().unwrap().asked.clone()
    }

    fn silent_from(&self, from: Option<usize>) {
        let mut state = self.0.0.lock().unwrap();
        state.silent_from = from;
        state.asked.clear();
        self.0.1.notify_all();
    }

    /// Waits until it was asked so much.
    fn wait(&self, count: usize) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        while state.asked.len() < count {
            let (next, waited) = changed.wait_timeout(state, Duration::from_secs(60)).unwrap();
            assert!(!waited.timed_out(), "only {} questions", next.asked.len());
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

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = eog().current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
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
    let (code, told, errors) = run(at, &CAPTURE);
    assert_eq!(code, 0, "{told}{errors}");
    assert!(!told.contains("missing"), "{told}");
    for (name, text) in files(&at.join("shop")) {
        assert!(!text.contains("hunter2"), "{name}");
    }
    let spans = std::fs::read_to_string(at.join("shop/spans.csv")).unwrap();
    assert!(spans.contains("db") && spans.contains("web"), "of both: {spans}");
    let (code, told, errors) = run(at, &["investigate", "shop", "--out", "of-capture"]);
    assert_eq!(code, 0, "{told}{errors}");
    assert!(told.contains("cart"), "{told}");
    let live = ["investigate", "source.toml", "--window", WINDOW, "--out", "of-live"];
    let (code, _, errors) = run(at, &live);
    assert_eq!(code, 0, "{errors}");
    let read = |name: &str| std::fs::read(at.join(name).join("ledger.jsonl")).unwrap();
    assert!(read("of-capture") == read("of-live"), "byte for byte");
}

#[test]
fn a_capture_that_was_interrupted_or_killed_goes_on_and_holds_no_secret_meanwhile() {
    const ANSWERED: usize = 5;
    let (server, port) = Scripted::start();
    let undisturbed = folder(port);
    let (code, told, errors) = run(undisturbed.path(), &CAPTURE);
    assert_eq!(code, 0, "{told}{errors}");
    let whole = files(&undisturbed.path().join("shop"));
    let all = server.asked().len();
    for signal in ["-INT", "-KILL"] {
        let folder = folder(port);
        let at = folder.path();
        server.silent_from(Some(ANSWERED));
        let child = eog()
            .current_dir(at)
            .args(CAPTURE)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        server.wait(ANSWERED + 1);
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let ended = child.wait_with_output().unwrap();
        if signal == "-INT" {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!(ended.status.code(), Some(130), "{said}");
            assert!(said.contains("run the same command again to continue"), "{said}");
        }
        let partial = files(&at.join("shop"));
        assert!(!partial.is_empty() && !at.join("shop/capture.json").exists());
        for (name, text) in &partial {
            assert!(!text.contains("hunter2"), "{name}: {text}");
        }
        server.silent_from(None);
        let (code, told, errors) = run(at, &CAPTURE);
        assert_eq!(code, 0, "{told}{errors}");
        assert_eq!(files(&at.join("shop")), whole, "{signal}");
        let asked = server.asked().len();
        assert!(asked < all, "{asked} of {all}: what was answered is not asked again");
    }
}
