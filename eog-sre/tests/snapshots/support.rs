//! Writes small snapshots into temporary directories.

use std::fs;
use std::path::{Path, PathBuf};

use eog_core::{EntityId, Finding, LocalContext, Timestamp, Window};
use eog_sre::{ReadOptions, Snapshot, SnapshotContext, SnapshotError};
use serde_json::{Value, json};

/// A directory that becomes a snapshot.
pub(crate) struct Recording {
    pub(crate) directory: tempfile::TempDir,
    objects: Vec<(String, Value)>,
    events: Vec<(String, Value)>,
    logs: Vec<[String; 4]>,
    spans: Vec<Vec<String>>,
    dumps: usize,
}

/// One span row.
pub(crate) struct Span<'a> {
    pub(crate) at: String,
    pub(crate) ids: (&'a str, String, String),
    pub(crate) name: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) service: &'a str,
    pub(crate) ms: u64,
    pub(crate) failed: bool,
    pub(crate) attributes: &'a str,
}

pub(crate) const LOG_HEADER: [&str; 17] = [
    "Timestamp",
    "TimestampTime",
    "TraceId",
    "SpanId",
    "TraceFlags",
    "SeverityText",
    "SeverityNumber",
    "ServiceName",
    "Body",
    "ResourceSchemaUrl",
    "ResourceAttributes",
    "ScopeSchemaUrl",
    "ScopeName",
    "ScopeVersion",
    "ScopeAttributes",
    "LogAttributes",
    "EventName",
];

const SPAN_HEADER: [&str; 17] = [
    "Timestamp",
    "TraceId",
    "SpanId",
    "ParentSpanId",
    "TraceState",
    "SpanName",
    "SpanKind",
    "ServiceName",
    "ResourceAttributes",
    "ScopeName",
    "ScopeVersion",
    "SpanAttributes",
    "Duration",
    "StatusCode",
    "StatusMessage",
    "Events.Name",
    "Links.TraceId",
];

impl Recording {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            objects: Vec::new(),
            events: Vec::new(),
            logs: Vec::new(),
            spans: Vec::new(),
            dumps: 0,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file, with the directories on its way.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// An alert dump of one firing alert in its own file.
    pub(crate) fn alert(&mut self, at: &str, labels: Value, active_at: &str) {
        self.dumps += 1;
        let clock = at.replace(':', "-");
        let alert = json!([{"labels": labels, "annotations": {"description": "too much"},
            "state": "firing", "activeAt": active_at, "value": "2e-01"}]);
        self.file(
            &format!("alerts/alerts_at_2026-01-01T{clock}.{}.json", self.dumps),
            alert.to_string(),
        );
    }

    pub(crate) fn object(&mut self, clock: &str, object: Value) {
        self.objects.push((format!("2026-01-01 {clock}"), object));
    }

    pub(crate) fn event(&mut self, clock: &str, event: Value) {
        self.events.push((format!("2026-01-01 {clock}"), event));
    }

    /// A line of a severity by its number or its name.
    pub(crate) fn log(&mut self, clock: &str, service: &str, severity: &str, body: &str) {
        let at = format!("2026-01-01 {clock}");
        self.logs.push([at, severity.into(), service.into(), body.into()]);
    }

    pub(crate) fn span(&mut self, span: Span<'_>) {
        self.spans.push(span_row(&span));
    }

    /// A trace as `kind service ms [attributes]` for each span, each the child of the one before; a `!` before the kind
    /// lets the span fail.
    #[allow(dead_code, reason = "for the tests of the tools")]
    pub(crate) fn trace(&mut self, clock: &str, spans: &[&str]) {
        let trace = format!("{:032x}", self.spans.len() + 1);
        let mut parent = String::new();
        for span in spans {
            let own = format!("{:016x}", self.spans.len() + 1);
            let mut parts = span.splitn(4, ' ');
            let mut part = || parts.next().unwrap_or("{}");
            let (kind, service, ms, attributes) = (part(), part(), part(), part());
            self.span(Span {
                at: clock.to_owned(),
                ids: (&trace, own.clone(), std::mem::replace(&mut parent, own)),
                name: &format!("{service} work"),
                kind: kind.trim_start_matches('!'),
                service,
                ms: ms.parse().unwrap(),
                failed: kind.starts_with('!'),
                attributes,
            });
        }
    }

    /// Writes the collected tables.
    pub(crate) fn write(&self) {
        let body = |rows: &[(String, Value)]| {
            let rows = rows.iter().map(|(at, body)| {
                log_row(at, "0", "", &body.to_string(), "{'k8s.namespace.name': 'shop'}")
            });
            table(&LOG_HEADER, rows)
        };
        if !self.objects.is_empty() {
            self.file("k8s_objects_raw.tsv", body(&self.objects));
        }
        if !self.events.is_empty() {
            self.file("k8s_events_raw.tsv", body(&self.events));
        }
        if !self.logs.is_empty() {
            let rows = self.logs.iter().map(|[at, severity, service, body]| {
                log_row(at, severity, service, body, "{'k8s.namespace.name': 'shop'}")
            });
            self.file("otel_logs_raw.tsv", table(&LOG_HEADER, rows));
        }
        if !self.spans.is_empty() {
            self.file("otel_traces_raw.tsv", table(&SPAN_HEADER, self.spans.iter().cloned()));
        }
    }

    pub(crate) fn try_open(&self) -> Result<Snapshot, SnapshotError> {
        self.write();
        Snapshot::open(self.path(), &ReadOptions::default())
    }

    pub(crate) fn open(&self) -> Snapshot {
        self.try_open().unwrap()
    }

    pub(crate) fn context(&self) -> SnapshotContext {
        let snapshot = self.open();
        let graph = snapshot.graph();
        SnapshotContext::new(snapshot, graph)
    }
}

fn log_row(at: &str, severity: &str, service: &str, body: &str, resource: &str) -> Vec<String> {
    let cell = |name: &&str| match *name {
        "Timestamp" | "TimestampTime" => at.to_owned(),
        "SeverityNumber" if severity.parse::<u8>().is_ok() => severity.to_owned(),
        "SeverityText" if severity.parse::<u8>().is_err() => severity.to_owned(),
        "ServiceName" => service.to_owned(),
        "Body" => body.to_owned(),
        "ResourceAttributes" => resource.to_owned(),
        _ => String::new(),
    };
    LOG_HEADER.iter().map(cell).collect()
}

fn span_row(span: &Span<'_>) -> Vec<String> {
    let cell = |name: &&str| match *name {
        "Timestamp" => format!("2026-01-01 {}", span.at),
        "TraceId" => span.ids.0.to_owned(),
        "SpanId" => span.ids.1.clone(),
        "ParentSpanId" => span.ids.2.clone(),
        "SpanName" => span.name.to_owned(),
        "SpanKind" => span.kind.to_owned(),
        "ServiceName" => span.service.to_owned(),
        "ResourceAttributes" => {
            format!(
                "{{'k8s.namespace.name': 'shop', 'k8s.deployment.name': '{0}', 'k8s.pod.name': '{0}-a-1'}}",
                span.service
            )
        }
        "SpanAttributes" => span.attributes.to_owned(),
        "Duration" => (span.ms * 1_000_000).to_string(),
        "StatusCode" => if span.failed { "Error" } else { "Unset" }.to_owned(),
        "StatusMessage" if span.failed => format!("no\nanswer to {}", span.ids.1),
        _ => String::new(),
    };
    SPAN_HEADER.iter().map(cell).collect()
}

/// A tab-separated table.
pub(crate) fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().delimiter(b'\t').from_writer(Vec::new());
    writer.write_record(header).unwrap();
    for row in rows {
        writer.write_record(&row).unwrap();
    }
    writer.into_inner().unwrap()
}

pub(crate) fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

pub(crate) fn at(clock: &str) -> Timestamp {
    format!("2026-01-01T{clock}Z").parse().unwrap()
}

pub(crate) fn window(start: &str, end: &str) -> Window {
    Window::new(at(start), at(end)).unwrap()
}

/// Every finding as one line: kind, signal and excerpt.
pub(crate) fn lines(context: &LocalContext) -> Vec<String> {
    context.findings.iter().map(line).collect()
}

pub(crate) fn line(finding: &Finding) -> String {
    format!("{:?} {:?} {:?}: {}", finding.kind, finding.signal, finding.trend, finding.excerpt)
}

/// A workload with one container.
pub(crate) fn workload(kind: &str, name: &str, container: Value, volumes: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind,
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": 1, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [container], "volumes": volumes}
        }}
    })
}

/// A Service that selects the pods of an app.
pub(crate) fn service(name: &str, app: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"app": app}}})
}

/// A ConfigMap with one entry.
pub(crate) fn config(name: &str, key: &str, value: &str, written: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {key: value},
        "metadata": {"name": name, "namespace": "shop", "resourceVersion": written,
            "managedFields": [{"manager": "someone", "operation": "Update",
                "time": format!("2026-01-01T{written}Z")}]}})
}
