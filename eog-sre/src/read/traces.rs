//! Spans, with caller and callee where the trace says so.

use std::collections::HashMap;

use eog_evidence::shorten;

use super::resource::{Conversions, Senders};
use super::tsv::Table;
use super::{Folder, MAX_TEXT, SnapshotError};
use crate::pydict;
use crate::store::{
    Interner, Link, MAX_ROWS, NewSpan, SpanKind, Spans, nanoseconds, number, reorder, time_order,
};
use crate::time;
use crate::warnings::Warnings;
use eog_evidence::mask_text;

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
) -> Result<Spans, SnapshotError> {
    let (mut senders, mut texts) = (Senders::new(), Interner::of_texts());
    let (mut names, mut messages) = (Conversions::default(), Conversions::default());
    let mut spans = Spans::default();
    let mut ids = Ids::default();
    let mut account = folder.budget().account();
    // Look-ups alone.
    let mut traces: HashMap<u64, u32> = HashMap::new();
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
        let file = texts.text(table.file());
        while table.next_row(warnings) {
            let Some(at) = time::parse(table.unmasked(at)).and_then(nanoseconds) else {
                table.reject(
                    "the Timestamp is not a time between the years 1678 and 2261",
                    warnings,
                );
                continue;
            };
            let nanoseconds = table.unmasked(duration).trim().parse::<f64>().ok();
            let Some(nanoseconds) = nanoseconds.filter(|ns| ns.is_finite() && *ns >= 0.0) else {
                table.reject("the Duration is not a number of nanoseconds", warnings);
                continue;
            };
            if spans.len() >= MAX_ROWS {
                warnings.note(format!("traces: only the first {MAX_ROWS} spans are used"));
                table.finish(warnings);
                break;
            }
            let kind = span_kind(table.unmasked(kind));
            let calls_out = matches!(kind, SpanKind::Client | SpanKind::Producer);
            let peer = calls_out.then(|| peer_host(table.unmasked(attributes))).flatten();
            let failed = ends_with_error(table.unmasked(status));
            ids.own.push(id(table.unmasked(span)));
            ids.parent.push(id(table.unmasked(parent)));
            let fresh = number(traces.len());
            spans.push(&NewSpan {
                at,
                duration: nanoseconds.round() as u64,
                sender: senders.number(table.unmasked(service), table.unmasked(resource)),
                name: names.number(&mut texts, table.unmasked(name), |name| {
                    shorten(&mask_text(name), 160)
                }),
                kind,
                failed,
                message: messages.number(&mut texts, table.unmasked(message), masked),
                trace: *traces.entry(id(table.unmasked(trace))).or_insert(fresh),
                trace_text: if failed { texts.text(&shorten(&table.cell(trace), 64)) } else { 0 },
                peer_host: texts.text(peer.as_deref().unwrap_or_default()),
                file,
            });
            let texts = texts.size() + senders.size() + names.remembered + messages.remembered;
            if !account.holds(spans.len() * Spans::ROW + texts) {
                return Ok(Spans::default());
            }
        }
    }
    spans.senders = senders.into_values();
    spans.texts = texts.into_texts();
    drop((names, messages));
    if let Some(order) = time_order(&spans.at) {
        spans.reorder(&order);
        reorder(&mut ids.own, &order);
        reorder(&mut ids.parent, &order);
    }
    spans.shrink_to_fit();
    relate_all(&mut spans, &ids, traces.len());
    Ok(spans)
}

/// The ids of spans and of their parents, as numbers; the parent's is 0 when there is none.
#[derive(Default)]
struct Ids {
    own: Vec<u64>,
    parent: Vec<u64>,
}

/// Joins spans with their parents, which belong to the same trace. Of spans that claim one id the
/// first counts.
fn relate_all(spans: &mut Spans, ids: &Ids, traces: usize) {
    spans.parent = vec![Link::default(); spans.len()];
    spans.callee = vec![Link::default(); spans.len()];
    let own = |row: u32| ids.own.get(row as usize).copied().unwrap_or_default();
    let mut by_trace = by_trace(&spans.trace, traces);
    for rows in &mut by_trace {
        rows.sort_unstable_by_key(|row| (own(*row), *row));
    }
    for (child, parent) in ids.parent.iter().enumerate().filter(|(_, parent)| **parent != 0) {
        let trace = spans.trace.get(child).and_then(|trace| by_trace.get(*trace as usize));
        let rows = trace.map(Vec::as_slice).unwrap_or_default();
        let first = rows.partition_point(|row| own(*row) < *parent);
        if let Some(above) = rows.get(first).filter(|row| own(**row) == *parent) {
            relate(spans, *above, child);
        }
    }
}

/// The rows of each trace.
fn by_trace(trace: &[u32], traces: usize) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = vec![Vec::new(); traces];
    for (row, trace) in trace.iter().enumerate() {
        if let Some(group) = groups.get_mut(*trace as usize) {
            group.push(number(row));
        }
    }
    groups
}

/// Notes a span's parent, and for a client span who took its call.
fn relate(spans: &mut Spans, parent: u32, child: usize) {
    let taker = spans.get(number(child));
    let above = spans.get(parent);
    let is_remote =
        !taker.sender().service.is_empty() && taker.sender().service != above.sender().service;
    let callee = Link::to(taker.sender_number());
    let takes = above.kind() == SpanKind::Client && is_remote && above.callee_number().is_none();
    if let Some(slot) = spans.callee.get_mut(parent as usize).filter(|_| takes) {
        *slot = callee;
    }
    if let Some(slot) = spans.parent.get_mut(child) {
        *slot = Link::to(parent);
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
    found.map(|host| shorten(host, 200)).filter(|host| !host.is_empty())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the same rows from files of one row each, in this order.
    fn read(rows: &[&str]) -> Spans {
        let directory = tempfile::tempdir().unwrap();
        let header = "Timestamp\tTraceId\tSpanId\tParentSpanId\tSpanName\tServiceName\tDuration\t\
                      SpanKind\tSpanAttributes\tStatusCode\tStatusMessage\n";
        let files: Vec<String> =
            (0..rows.len()).map(|at| format!("otel_traces_{at}.tsv")).collect();
        for (file, row) in files.iter().zip(rows) {
            std::fs::write(directory.path().join(file), format!("{header}{row}\n")).unwrap();
        }
        let mut folder = Folder::new(directory.path()).unwrap();
        let mut warnings = Warnings::default();
        let spans = read_traces(&mut folder, &files, 100, &mut warnings).unwrap();
        assert!(warnings.into_lines().is_empty());
        spans
    }

    /// All that readers can see of a span but its file.
    fn descriptions(spans: &Spans) -> Vec<String> {
        let describe = |span: crate::store::SpanRef<'_>| {
            let callee = span.callee_number().map(|number| &spans.sender(number).service);
            format!(
                "{} {} {} {:?} {} {} {:?} {} trace={} parent={:?} callee={callee:?} peer={:?}",
                span.at(),
                span.sender().service,
                span.name(),
                span.kind(),
                span.duration_ms(),
                span.failed(),
                span.message(),
                span.trace(),
                span.trace_number() == spans.get(0).trace_number(),
                span.parent().map(crate::store::SpanRef::name),
                span.peer_host(),
            )
        };
        spans.iter().map(describe).collect()
    }

    #[test]
    fn every_column_follows_the_order_of_time() {
        let rows = [
            "2026-01-01 10:00:00\tt1\t1\t\tcall\tweb\t1000000\tClient\t{'server.address': 'db'}\t\t",
            "2026-01-01 10:00:01\tt1\t2\t1\tserve\tdb\t2000000\tServer\t{}\tError\trefused",
            "2026-01-01 10:00:02\tt2\t3\t\tsend\tweb\t3000000\tProducer\t{'server.address': 'q'}\tOk\t",
            // Claims an id that another span has already: the first is the parent.
            "2026-01-01 10:00:03\tt1\t2\t1\tagain\tdb\t4000000\tServer\t{}\tError\tgone",
            "2026-01-01 10:00:04\tt1\t4\t2\tinner\tdb\t5000000\tInternal\t{}\t\t",
            // The same parent id in another trace.
            "2026-01-01 10:00:05\tt2\t5\t1\talone\tdb\t6000000\tInternal\t{}\t\t",
        ];
        let sorted = descriptions(&read(&rows));
        assert_eq!(
            sorted[..2],
            [
                "2026-01-01T10:00:00Z web call Client 1 false \"\"  trace=true parent=None \
                 callee=Some(\"db\") peer=Some(\"db\")",
                "2026-01-01T10:00:01Z db serve Server 2 true \"refused\" t1 trace=true \
                 parent=Some(\"call\") callee=None peer=None",
            ]
        );
        assert!(sorted[4].contains("parent=Some(\"serve\")"), "{}", sorted[4]);
        assert!(sorted[5].contains("trace=false parent=None"), "{}", sorted[5]);
        for order in [[5, 4, 3, 2, 1, 0], [2, 0, 5, 3, 1, 4]] {
            let spans = read(&order.map(|at: usize| rows[at]));
            assert_eq!(descriptions(&spans), sorted);
            let files: Vec<&str> = spans.iter().map(crate::store::SpanRef::file).collect();
            let place = |row: usize| order.iter().position(|at| *at == row).unwrap();
            let expected: Vec<String> =
                (0..rows.len()).map(|row| format!("otel_traces_{}.tsv", place(row))).collect();
            assert_eq!(files, expected);
        }
    }
}
