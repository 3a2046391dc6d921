//! Spans, with who called whom where the trace says so.

use std::collections::HashMap;
use std::sync::Arc;

use eog_core::Timestamp;
use eog_evidence::shorten;

use super::resource::{Resource, Resources};
use super::tsv::Table;
use super::{Folder, MAX_TEXT, SnapshotError};
use crate::pydict;
use crate::time;
use crate::warnings::Warnings;
use eog_evidence::mask_text;

/// The role of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Server,
    Client,
    Producer,
    Consumer,
    Internal,
}

/// One span.
#[derive(Clone, Debug)]
pub(crate) struct SpanRecord {
    pub(crate) at: Timestamp,
    pub(crate) sender: Arc<Resource>,
    pub(crate) name: Arc<str>,
    pub(crate) kind: SpanKind,
    pub(crate) duration_ms: f64,
    pub(crate) failed: bool,
    pub(crate) message: Arc<str>,
    /// The trace, as a number to compare.
    pub(crate) trace_id: u64,
    /// The parent span, when that is in the recording, as its place in the list of all spans.
    pub(crate) parent_at: Option<usize>,
    /// The sender of the parent span, when that is in the recording.
    pub(crate) parent: Option<(Arc<Resource>, SpanKind)>,
    /// Of a client span the sender of a span that took the call, when that is another service.
    pub(crate) callee: Option<Arc<Resource>>,
    /// The host that a client span says it talks to, without port.
    pub(crate) peer_host: Option<Arc<str>>,
    /// The trace, for people who look it up.
    pub(crate) trace: Arc<str>,
    pub(crate) file: Arc<str>,
}

/// Attributes that name the other side of a client span, best first.
const PEER_ATTRIBUTES: [&str; 8] = [
    "peer.service",
    "upstream_cluster.name",
    "upstream_cluster",
    "server.address",
    "net.peer.name",
    "http.host",
    "messaging.kafka.bootstrap.servers",
    "db.connection_string",
];

const REQUIRED: [&str; 7] =
    ["Timestamp", "TraceId", "SpanId", "ParentSpanId", "SpanName", "ServiceName", "Duration"];

/// Reads trace tables; the result is in time order, equal times in the order of the files.
///
/// # Errors
/// [`SnapshotError`] when a table lacks a column or cannot be read.
pub(crate) fn read_traces(
    folder: &mut Folder,
    files: &[String],
    max_rows: usize,
    warnings: &mut Warnings,
) -> Result<Vec<SpanRecord>, SnapshotError> {
    let (mut shared, mut messages) = (Resources::default(), Resources::default());
    let empty: Arc<str> = "".into();
    let mut spans: Vec<SpanRecord> = Vec::new();
    let mut ids: Vec<Ids> = Vec::new();
    for file in files {
        let Some(source) = folder.open(file, warnings) else { continue };
        let Some(mut table) = Table::open(file, source, &REQUIRED, max_rows)? else {
            warnings.note(format!("{file}: is empty"));
            continue;
        };
        let [at, trace, span, parent, name, service, duration] =
            REQUIRED.map(|column| table.column(column));
        let optional =
            ["SpanKind", "ResourceAttributes", "SpanAttributes", "StatusCode", "StatusMessage"];
        let [kind, resource, attributes, status, message] =
            optional.map(|column| table.column(column));
        let file: Arc<str> = table.file().into();
        while table.next_row(warnings) {
            let Some(at) = time::parse(table.cell(at)) else {
                table.reject("the Timestamp is not a time", warnings);
                continue;
            };
            let nanoseconds = table.cell(duration).trim().parse::<f64>().ok();
            let Some(nanoseconds) = nanoseconds.filter(|ns| ns.is_finite() && *ns >= 0.0) else {
                table.reject("the Duration is not a number of nanoseconds", warnings);
                continue;
            };
            let kind = span_kind(table.cell(kind));
            let calls_out = matches!(kind, SpanKind::Client | SpanKind::Producer);
            let peer = calls_out.then(|| peer_host(table.cell(attributes))).flatten();
            let trace_id = id(table.cell(trace));
            ids.push(Ids { own: id(table.cell(span)), parent: id(table.cell(parent)) });
            let failed = ends_with_error(table.cell(status));
            spans.push(SpanRecord {
                at,
                sender: shared.resource(table.cell(service), table.cell(resource)),
                name: shared.converted(table.cell(name), |name| shorten(&mask_text(name), 160)),
                kind,
                duration_ms: nanoseconds / 1e6,
                failed,
                message: messages.converted(table.cell(message), masked),
                trace_id,
                parent_at: None,
                parent: None,
                callee: None,
                peer_host: peer.map(|host| shared.text(&host)),
                trace: if failed {
                    shared.text(&shorten(table.cell(trace), 64))
                } else {
                    empty.clone()
                },
                file: file.clone(),
            });
        }
    }
    let mut rows: Vec<(SpanRecord, Ids)> = spans.into_iter().zip(ids).collect();
    rows.sort_by_key(|(span, _)| span.at);
    let (mut spans, ids): (Vec<SpanRecord>, Vec<Ids>) = rows.into_iter().unzip();
    relate_all(&mut spans, &ids);
    spans.shrink_to_fit();
    Ok(spans)
}

/// The ids of a span and of its parent, as numbers; the parent's is 0 when there is none.
#[derive(Clone, Copy)]
struct Ids {
    own: u64,
    parent: u64,
}

/// Joins spans with their parents. Of spans that claim one id the first counts.
fn relate_all(spans: &mut [SpanRecord], ids: &[Ids]) {
    // Look-ups alone.
    let mut by_id: HashMap<(u64, u64), usize> = HashMap::with_capacity(spans.len());
    for (at, (span, ids)) in spans.iter().zip(ids).enumerate() {
        by_id.entry((span.trace_id, ids.own)).or_insert(at);
    }
    for (at, ids) in ids.iter().enumerate().filter(|(_, ids)| ids.parent != 0) {
        let Some(trace) = spans.get(at).map(|span| span.trace_id) else { continue };
        if let Some(parent) = by_id.get(&(trace, ids.parent)) {
            relate(spans, *parent, at);
        }
    }
}

/// Notes who sent the parent of a span, and for a client span who took its call.
fn relate(spans: &mut [SpanRecord], parent: usize, child: usize) {
    let Some(sender) = spans.get(child).map(|span| span.sender.clone()) else { return };
    let Some(above) = spans.get_mut(parent) else { return };
    let is_remote = !sender.service.is_empty() && sender.service != above.sender.service;
    if above.kind == SpanKind::Client && is_remote && above.callee.is_none() {
        above.callee = Some(sender);
    }
    let parent_sender = Some((above.sender.clone(), above.kind));
    if let Some(span) = spans.get_mut(child) {
        span.parent = parent_sender;
        span.parent_at = Some(parent);
    }
}

fn masked(message: &str) -> String {
    shorten(&mask_text(&shorten(message, MAX_TEXT)), MAX_TEXT)
}

fn ends_with_error(status: &str) -> bool {
    let end = status.len().checked_sub(5).and_then(|at| status.get(at..));
    end.is_some_and(|end| end.eq_ignore_ascii_case("error"))
}

fn span_kind(text: &str) -> SpanKind {
    const KINDS: [(&str, SpanKind); 4] = [
        ("server", SpanKind::Server),
        ("client", SpanKind::Client),
        ("producer", SpanKind::Producer),
        ("consumer", SpanKind::Consumer),
    ];
    let last = text.rsplit('_').next().unwrap_or_default();
    let known = KINDS.iter().find(|(name, _)| last.eq_ignore_ascii_case(name));
    known.map_or(SpanKind::Internal, |(_, kind)| *kind)
}

fn peer_host(attributes: &str) -> Option<String> {
    let attributes = pydict::parse(attributes);
    let found = PEER_ATTRIBUTES.iter().find_map(|name| attributes.get(*name));
    found.map(|host| shorten(&mask_text(host), 200)).filter(|host| !host.is_empty())
}

/// An id as a number: hexadecimal, or hashed when it is not. Empty is zero.
fn id(text: &str) -> u64 {
    let tail = text.get(text.len().saturating_sub(16)..).unwrap_or(text);
    u64::from_str_radix(tail, 16).unwrap_or_else(|_| {
        text.bytes().fold(if text.is_empty() { 0 } else { 0xcbf2_9ce4_8422_2325 }, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    })
}
