//! Live sources: what they say is captured and investigated.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::planted::{Planted, Written, planted};
use crate::common::{answering, command};

const ONSET: &str = "2026-01-01T10:47:00Z";
/// The same in seconds.
const AT: i64 = 1_767_264_420;

/// The trace that a search of Tempo finds.
const TRACE: &str = "2f3e0cee77ae5dc9c17ade3689eb2e54";

/// A text as OTLP writes it in JSON.
fn value(text: &str) -> Value {
    json!({"stringValue": text})
}

/// A resource of OTLP that holds a text, and a span of it that does so wherever it can.
fn resource(place: usize, text: &str) -> Value {
    json!({"attributes": [
        {"key": "service.name", "value": value(&name(place))}, {"key": "memo", "value": value(text)}]})
}

fn span(trace: &str, place: usize, text: &str) -> Value {
    let attributes = json!([{"key": "memo", "value": value(text)}, {"key": "peer.service", "value": value(text)}]);
    json!({"traceId": trace, "spanId": format!("f{place:015x}"), "name": text, "kind": "SPAN_KIND_CLIENT",
        "startTimeUnixNano": (AT * 1_000_000_000).to_string(),
        "endTimeUnixNano": (AT * 1_000_000_000 + 9_000_000).to_string(),
        "attributes": attributes, "status": {"code": "STATUS_CODE_ERROR", "message": text},
        "events": [{"name": text, "attributes": attributes}]})
}

/// A server that answers by path, whatever is asked.
fn server(answers: Vec<(&'static str, Value)>) -> u16 {
    answering(move |asked| {
        let found = answers.iter().find(|(begin, _)| asked.address().0.starts_with(begin));
        found.map_or((404, "{}".to_owned()), |(_, answer)| (200, answer.to_string()))
    })
}

fn name(place: usize) -> String {
    format!("service-{place}")
}

/// Each text in an alert, an annotation, labels of a series, spans of Jaeger, Tempo and a file with their tags and
/// messages, a log line, a change, and an object of a cluster with its event.
fn write(folder: &Path, all: &[Planted]) {
    let each = |make: &dyn Fn(usize, &str) -> Value| -> Vec<Value> {
        all.iter().enumerate().map(|(place, one)| make(place, &one.text)).collect()
    };
    let alerts = each(&|place, text| {
        json!({"labels": {"alertname": "HighErrorRate", "service": name(place), "memo": text},
            "annotations": {"description": text}, "fingerprint": "1", "startsAt": ONSET,
            "endsAt": "2026-01-01T12:00:00Z", "status": {"state": "active"}})
    });
    let firing = each(&|place, text| {
        json!({"metric": {"__name__": "ALERTS", "alertname": "HighErrorRate", "alertstate": "firing",
            "service": name(place), "memo": text}, "values": [[AT, "1"]], "value": [AT, "1"]})
    });
    let series = json!({"status": "success", "warnings": [all[0].text],
        "data": {"resultType": "matrix", "result": firing}});
    let traces = each(&|place, text| {
        json!({"spans": [{"traceID": format!("{place:032x}"), "spanID": format!("{place:016x}"),
            "operationName": text, "startTime": AT * 1_000_000, "duration": 9, "processID": "p",
            "tags": [{"key": "error", "value": true}, {"key": "memo", "value": text},
                {"key": "otel.status_description", "value": text}]}],
            "processes": {"p": {"serviceName": name(place), "tags": [{"key": "memo", "value": text}]}}})
    });
    let events = each(&|place, text| {
        json!({"metadata": {"name": format!("e{place}"), "namespace": "shop"}, "reason": "BackOff",
            "type": "Warning", "message": text, "lastTimestamp": ONSET, "firstTimestamp": ONSET,
            "involvedObject": {"kind": "Pod", "name": format!("pod-{place}"), "namespace": "shop"}})
    });
    let pods = each(&|place, text| {
        json!({"metadata": {"name": format!("pod-{place}"), "namespace": "shop",
            "creationTimestamp": ONSET, "labels": {"memo": text}, "annotations": {"memo": text}},
            "spec": {"containers": [{"name": "c", "args": [text], "env": [{"name": "T", "value": text}]}]},
            "status": {"phase": "Failed", "message": text, "containerStatuses": [{"name": "c",
                "restartCount": 3, "lastState": {"terminated": {"reason": "Error", "exitCode": 1,
                "message": text, "finishedAt": ONSET}}}]}})
    });
    let port = server(vec![
        ("/api/v2/status", json!({"versionInfo": {"version": "0.28"}})),
        ("/api/v2/alerts/groups", json!([])),
        ("/api/v2/alerts", json!(alerts)),
        ("/api/v1/label", json!({"status": "success", "data": ["up", "ALERTS"]})),
        ("/api/v1/query", series),
        ("/api/v1/pods", json!({"items": pods})),
        ("/api/v1/events", json!({"items": events})),
        ("/api/v1", json!({"items": []})),
        ("/apis", json!({"items": []})),
        ("/api/services", json!({"data": ["service-0"]})),
        ("/api/search", json!({"traces": [{"traceID": TRACE, "rootServiceName": all[0].text}]})),
        (
            "/api/traces/",
            json!({"batches": each(&|place, text| {
                json!({"resource": resource(place, text),
                    "scopeSpans": [{"spans": [span(TRACE, place, text)]}]})
            })}),
        ),
        ("/api/traces", json!({"data": traces})),
    ]);
    let lines = each(&|place, text| {
        let other = format!("{:032x}", place + 1_000_000);
        json!({"resourceLogs": [{"resource": resource(place, text),
            "scopeLogs": [{"logRecords": [{"timeUnixNano": (AT * 1_000_000_000).to_string(),
                "severityNumber": 17, "severityText": text, "body": value(text)}]}]}],
            "resourceSpans": [{"resource": resource(place, text),
                "scopeSpans": [{"spans": [span(&other, place, text)]}]}]})
    });
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let changes = each(&|place, text| {
        json!({"time": "2026-01-01T10:46:00Z", "entity": name(place), "path": "text", "old": text,
            "new": format!("{text} again"), "description": text})
    });
    let file = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    file("logs.jsonl", &lines.join("\n"));
    file("changes.json", &json!(changes).to_string());
    let server = format!("http://127.0.0.1:{port}");
    file(
        "kubeconfig",
        &format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters:\n- name: c\n  cluster: {{server: '{server}'}}\nusers:\n- name: u\n  user: {{}}\n\
             contexts:\n- name: test\n  context: {{cluster: c, user: u}}\n"
        ),
    );
    file(
        "source.toml",
        &format!(
            "name = 'canaries'\nhistory = '40m'\nchanges = ['changes.json']\n\
             [prometheus]\nurl = '{server}'\nstep = '15s'\nscrape_interval = '15s'\n\
             [alertmanager]\nurl = '{server}'\n[otlp]\nfiles = ['logs.jsonl']\n\
             [jaeger]\nurl = '{server}'\n[tempo]\nurl = '{server}'\nparts = 1\n[kubernetes]\nkubeconfig = 'kubeconfig'\n"
        ),
    );
}

#[test]
fn no_secret_of_a_live_source_is_captured() {
    let all = planted();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &all);
    let mut written = Written::default();
    let mut run = |arguments: &[&str]| {
        let mut command = command!(arguments);
        command.env_remove("KUBECONFIG").env("HOME", dir.path());
        written.run(command.current_dir(dir.path()), 3);
    };
    let window = "2026-01-01T10:40:00Z/2026-01-01T11:00:00Z";
    run(&["check", "source.toml"]);
    run(&["capture", "--from", "source.toml", "--window", window, "--out", "captured"]);
    run(&["investigate", "captured", "--out", "result", "--journal", "run.journal"]);
    for file in ["alerts.json", "changes.json", "events.csv", "logs.csv", "spans.csv"] {
        let text = fs::read_to_string(dir.path().join("captured").join(file)).unwrap();
        assert!(text.matches("[masked]").count() >= all.len() / 2, "{file}: {text:.2000}");
        let traces = [TRACE, &format!("{:032x}", 1_000_000), &format!("{:032x}", 0)];
        assert!(
            file != "spans.csv" || traces.iter().all(|trace| text.contains(*trace)),
            "{text:.2000}"
        );
    }
    for folder in ["captured", "result"] {
        written.folder(&dir.path().join(folder));
    }
    written.file(&dir.path().join("run.journal"));
    written.check(&all, 6);
}
