//! Records of logs in JSON, of any store.

use std::collections::BTreeMap;

use eog_sre::read_time;
use serde_json::Value;

use super::text::{level_in, of_status, who_of_labels};
use crate::piece::{Line, Who};
use crate::spans::text;

/// Fields that hold the message of a log line, its time, its level and its request, best first.
const MESSAGES: [&str; 7] = ["message", "msg", "_msg", "log", "line", "body", "event"];
const TIMES: [&str; 11] = [
    "@timestamp",
    "timestamp",
    "time",
    "ts",
    "_time",
    "datetime",
    "eventTime",
    "t",
    "date",
    "start_time",
    "time_iso8601",
];
const LEVELS: [&str; 7] = ["level", "severity", "lvl", "log.level", "levelname", "loglevel", "@l"];
const TRACES: [&str; 6] = ["trace_id", "traceId", "traceID", "trace.id", "request_id", "requestId"];

/// Labels that say who wrote a record, and the fields that hold them.
const NAMES: [(&str, &[&str]); 5] = [
    ("service_name", &["service.name", "service_name", "serviceName", "resource.service.name"]),
    ("service", &["service", "app", "application", "appname", "kubernetes.labels.app"]),
    (
        "k8s_namespace_name",
        &[
            "k8s.namespace.name",
            "kubernetes.namespace",
            "kubernetes.namespace_name",
            "kubernetes.pod_namespace",
            "namespace",
        ],
    ),
    ("k8s_pod_name", &["k8s.pod.name", "kubernetes.pod.name", "kubernetes.pod_name", "pod"]),
    ("container_name", &["container.name", "container_name", "kubernetes.container_name"]),
];

/// Lines, and how many records are none.
pub(crate) struct Found {
    pub(crate) lines: Vec<Line>,
    pub(crate) lost: u64,
}

/// The entity of a record that names none.
type Fallback<'f> = &'f dyn Fn(&BTreeMap<String, String>) -> Option<Who>;

/// Streams as Loki answers.
pub(crate) fn streams(
    value: &Value,
    fallback: impl Fn(&BTreeMap<String, String>) -> Option<Who>,
) -> Found {
    let streams = value.pointer("/data/result").and_then(Value::as_array).into_iter().flatten();
    let mut found = Found { lines: Vec::new(), lost: 0 };
    for stream in streams {
        let labels = stream.get("stream").and_then(Value::as_object).into_iter().flatten();
        let labels: BTreeMap<String, String> = labels
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect();
        let who = who_of_labels(&labels).or_else(|| fallback(&labels));
        let level = ["detected_level", "level", "severity"].iter().find_map(|it| labels.get(*it));
        for entry in stream.get("values").and_then(Value::as_array).into_iter().flatten() {
            let at = entry.get(0).and_then(Value::as_str).and_then(|it| it.parse::<i64>().ok());
            let said = entry.get(1).and_then(Value::as_str);
            let (Some(at), Some(said), Some(who)) = (at, said, &who) else {
                found.lost += 1;
                continue;
            };
            let level = level.map_or_else(|| level_in(said), String::as_str);
            found.lines.push(line(at, who, level, text(said), ""));
        }
    }
    found
}

/// Hits as Elasticsearch and OpenSearch answer.
pub(crate) fn hits(
    value: &Value,
    fallback: impl Fn(&BTreeMap<String, String>) -> Option<Who>,
) -> Found {
    let hits = value.pointer("/hits/hits").and_then(Value::as_array).into_iter().flatten();
    let mut found = Found { lines: Vec::new(), lost: 0 };
    for hit in hits {
        add(hit.get("_source").unwrap_or(&Value::Null), &fallback, &mut found);
    }
    found
}

/// Records, one an object.
pub(crate) fn objects(
    list: &[Value],
    fallback: impl Fn(&BTreeMap<String, String>) -> Option<Who>,
) -> Found {
    let mut found = Found { lines: Vec::new(), lost: 0 };
    list.iter().for_each(|one| add(one, &fallback, &mut found));
    found
}

fn add(record: &Value, fallback: Fallback<'_>, found: &mut Found) {
    let labels = labels_of(record);
    let who = who_of_labels(&labels).or_else(|| fallback(&labels));
    match (log_parts(record), who) {
        (Some((at, level, said, trace)), Some(who)) => {
            found.lines.push(line(at, &who, &level, text(&said), &trace));
        }
        _ => found.lost += 1,
    }
}

/// A line with its parts.
pub(super) fn line(at: i64, who: &Who, level: &str, text: String, trace: &str) -> Line {
    let level = eog_evidence::shorten(level, 40);
    let trace = eog_evidence::shorten(trace, 64);
    Line { at, who: who.clone(), level, text, trace, resource: BTreeMap::new() }
}

/// A field by its name, whose dots may be levels.
fn field<'v>(record: &'v Value, name: &str) -> Option<&'v Value> {
    if let Some(found) = record.get(name) {
        return Some(found);
    }
    // Some of the dots may be levels, and others not.
    name.match_indices('.').find_map(|(at, _)| {
        let (first, rest) = name.split_at_checked(at)?;
        field(record.get(first)?, rest.get(1..)?)
    })
}

/// Time in nanoseconds, level, message and trace of a record of a log.
pub(super) fn log_parts(value: &Value) -> Option<(i64, String, String, String)> {
    value.as_object()?;
    let said = |names: &[&str]| {
        let fields = names.iter().filter_map(|name| field(value, name));
        let found = fields.into_iter().find(|it| it.is_string() || it.is_number());
        found.map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
    };
    let at = TIMES.iter().filter_map(|name| field(value, name)).find_map(read_time)?;
    let (mut message, of_status) = match said(&MESSAGES) {
        Some(message) => (message, ""),
        None => access(&said)?,
    };
    for name in ["error", "err", "exception", "stack_trace"] {
        let more = field(value, name).and_then(Value::as_str);
        if let Some(more) = more.filter(|it| !message.contains(*it)) {
            message = format!("{message}: {more}");
        }
    }
    let level = said(&LEVELS).unwrap_or_default();
    // Bunyan and pino write numbers.
    let level = match level.parse::<u32>() {
        Ok(60..) => "fatal".to_owned(),
        Ok(50..) => "error".to_owned(),
        Ok(40..) => "warn".to_owned(),
        Ok(_) => "info".to_owned(),
        Err(_) if level.is_empty() && !of_status.is_empty() => of_status.to_owned(),
        Err(_) if level.is_empty() => level_in(&message).to_owned(),
        Err(_) => level,
    };
    let at = i64::try_from(at.as_nanosecond()).ok()?;
    Some((at, level, message.trim_end().to_owned(), said(&TRACES).unwrap_or_default()))
}

/// A line of an access log in JSON, as nginx and Envoy are commonly set to write it: request, status, and to whom it was passed.
fn access(said: &dyn Fn(&[&str]) -> Option<String>) -> Option<(String, &'static str)> {
    let status = said(&["status", "response_code", "status_code"])?;
    let request = said(&["request"]).or_else(|| {
        let method = said(&["method", "request_method", ":method"])?;
        let path = said(&["path", "request_uri", "uri", ":path"])?;
        Some(format!("{method} {path}"))
    })?;
    let flags = said(&["response_flags"]).filter(|it| it != "-");
    let flags = flags.map(|it| format!(" {it}")).unwrap_or_default();
    let upstream = ["upstream_cluster", "upstream_addr", "upstream_host", "proxy_upstream_name"];
    let upstream = upstream.iter().find_map(|name| Some((name, said(&[*name])?)));
    let upstream = upstream.map(|(name, it)| format!(" {name}={it}")).unwrap_or_default();
    Some((format!("\"{request}\" {status}{flags}{upstream}"), of_status(&status)))
}

/// What of a record may name who wrote it, as labels.
fn labels_of(record: &Value) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for (name, fields) in NAMES {
        let found = fields.iter().find_map(|it| field(record, it)?.as_str());
        if let Some(found) = found.filter(|it| !it.is_empty()) {
            labels.insert(name.to_owned(), found.to_owned());
        }
    }
    labels
}
