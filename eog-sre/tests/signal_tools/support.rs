//! Writes small snapshots of telemetry.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use eog_sre::tools::Toolbox;
use eog_sre::{ReadOptions, Snapshot};
use serde_json::Value;

/// A directory that becomes a snapshot.
pub(crate) struct Recording {
    directory: tempfile::TempDir,
    spans: String,
    logs: String,
    next: u64,
}

const SPAN_HEADER: &str = "Timestamp\tTraceId\tSpanId\tParentSpanId\tSpanName\tSpanKind\t\
    ServiceName\tResourceAttributes\tSpanAttributes\tDuration\tStatusCode\tStatusMessage\n";

const LOG_HEADER: &str =
    "Timestamp\tSeverityText\tSeverityNumber\tServiceName\tBody\tResourceAttributes\n";

const RESOURCE: &str = "{'k8s.namespace.name': 'shop'}";

impl Recording {
    pub(crate) fn new() -> Self {
        let (spans, logs) = (SPAN_HEADER.to_owned(), LOG_HEADER.to_owned());
        let recording = Self { directory: tempfile::tempdir().unwrap(), spans, logs, next: 0 };
        recording.file("alerts/alerts_at_1.json", "[]");
        recording
    }

    /// Writes a file, with the directories on its way.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A trace at a time of 2026-01-01 as `kind service ms [attributes]` for each span, each the
    /// child of the one before; a `!` before the kind lets the span fail.
    pub(crate) fn trace(&mut self, clock: &str, spans: &[&str]) {
        self.next += 1;
        let trace = self.next;
        let mut parent = String::new();
        for span in spans {
            self.next += 1;
            let id = format!("{:016x}", self.next);
            let mut parts = span.splitn(4, ' ');
            let kind = parts.next().unwrap();
            let (service, ms) = (parts.next().unwrap(), parts.next().unwrap());
            let attributes = parts.next().unwrap_or("{}");
            let (status, message) = match kind.strip_prefix('!') {
                Some(_) => ("Error", format!("order {} refused", self.next)),
                None => ("Unset", String::new()),
            };
            let kind = kind.trim_start_matches('!');
            writeln!(
                self.spans,
                "2026-01-01 {clock}\t{trace:032x}\t{id}\t{parent}\t{service} work\t{kind}\t\
                 {service}\t{RESOURCE}\t{attributes}\t{ms}000000\t{status}\t{message}"
            )
            .unwrap();
            parent = id;
        }
    }

    pub(crate) fn log(&mut self, clock: &str, service: &str, severity: &str, body: &str) {
        let body = body.replace('"', "\"\"");
        writeln!(self.logs, "2026-01-01 {clock}\t{severity}\t0\t{service}\t\"{body}\"\t{RESOURCE}")
            .unwrap();
    }

    /// A Deployment of the shop, as the only object.
    pub(crate) fn deployment(&self, name: &str) {
        let object = serde_json::json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "shop"}, "spec": {"replicas": 1}});
        let object = object.to_string().replace('"', "\"\"");
        let rows = format!("Timestamp\tBody\n2026-01-01 10:00:00\t\"{object}\"\n");
        self.file("k8s_objects_raw.tsv", rows);
    }

    /// An alert on a service of the shop, active since a time.
    pub(crate) fn alert(&self, service: &str, since: &str) {
        let alert = serde_json::json!([{
            "labels": {"alertname": "ErrorRate", "service_name": service, "namespace": "shop"},
            "state": "firing", "activeAt": format!("2026-01-01T{since}Z"), "value": "2e-01"
        }]);
        self.file("alerts/alerts_at_2026-01-01T10-30-00.json", alert.to_string());
    }

    pub(crate) fn open(&self) -> Toolbox {
        if self.spans.len() > SPAN_HEADER.len() {
            self.file("otel_traces_raw.tsv", &self.spans);
        }
        if self.logs.len() > LOG_HEADER.len() {
            self.file("otel_logs_raw.tsv", &self.logs);
        }
        let snapshot = Snapshot::open(self.directory.path(), &ReadOptions::default()).unwrap();
        Toolbox::new(Arc::new(snapshot))
    }
}

/// The folder of recordings, or nothing when it is not there.
pub(crate) fn recordings() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    if folder.join("scenario-2-partial").is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no recordings at ../shared/data/itbench beside the workspace");
    None
}

/// Runs a tool that must answer.
pub(crate) fn call(toolbox: &Toolbox, name: &str, arguments: Value) -> Value {
    toolbox.call(name, arguments).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The message of a tool that must refuse.
pub(crate) fn refusal(toolbox: &Toolbox, name: &str, arguments: Value) -> String {
    toolbox.call(name, arguments).unwrap_err().to_string()
}
