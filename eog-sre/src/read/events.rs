//! Cluster events. Each arrives twice, as `v1` and as `events.k8s.io/v1`, and is counted once.

use std::collections::BTreeSet;

use eog_core::{EntityId, Timestamp};
use eog_evidence::{masked_json, shorten};
use serde_json::Value;

use super::tsv::Table;
use super::{Folder, MAX_TEXT, SnapshotError, bounded};
use crate::names::{EntityName, is_experiment_group};
use crate::time;
use crate::warnings::Warnings;

/// One event of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventRecord {
    pub(crate) at: Timestamp,
    pub(crate) entity: EntityId,
    pub(crate) reason: String,
    pub(crate) is_warning: bool,
    pub(crate) message: String,
    pub(crate) count: u64,
    /// Whether it speaks of a fault experiment, by the API group of its object.
    pub(crate) is_experiment: bool,
    /// When it happened first; `at` is when it happened last.
    pub(crate) first_at: Timestamp,
    /// What reported it, such as `kubelet`.
    pub(crate) component: String,
    /// The node that reported it, if one did.
    pub(crate) host: String,
    pub(crate) file: String,
}

/// About how many bytes a record needs, with its identity.
const RECORD: usize = 1_000;

/// Reads event tables; the result is sorted by time.
///
/// # Errors
/// [`SnapshotError`] when a table lacks a column or cannot be read.
pub(crate) fn read_events(
    folder: &mut Folder,
    files: &[String],
    max_rows: usize,
    warnings: &mut Warnings,
) -> Result<Vec<EventRecord>, SnapshotError> {
    let mut seen = BTreeSet::new();
    let mut records = Vec::new();
    let mut account = folder.budget().account();
    for file in files {
        let Some(source) = folder.open(file, warnings) else { continue };
        let Some(mut table) = Table::open(file, source, &["Timestamp", "Body"], max_rows)? else {
            warnings.note(format!("{file}: is empty"));
            continue;
        };
        let (at, body) = (table.column("Timestamp"), table.column("Body"));
        while table.next_row(warnings) {
            let row_time = time::parse(table.unmasked(at));
            match read_event(table.unmasked(body), row_time, table.file()) {
                Ok((identity, record)) => {
                    if seen.insert(identity) {
                        records.push(record);
                    }
                    if !account.holds(records.len() * RECORD) {
                        return Ok(Vec::new());
                    }
                }
                Err(reason) => table.reject(reason, warnings),
            }
        }
    }
    records.sort_by(|a, b| (a.at, &a.entity, &a.reason).cmp(&(b.at, &b.entity, &b.reason)));
    Ok(records)
}

/// What makes an occurrence one: the event's own id, its count and its time.
pub(crate) type Identity = (String, u64, Timestamp);

/// The event in one cell; `row_time` when it has no time of its own.
pub(crate) fn read_event(
    body: &str,
    row_time: Option<Timestamp>,
    file: &str,
) -> Result<(Identity, EventRecord), &'static str> {
    let value: Value = masked_json(body.as_bytes()).map_err(|_| "the Body is not valid JSON")?;
    let event = value.get("object").filter(|inner| inner.is_object()).unwrap_or(&value);
    let text = |pointers: &[&str]| {
        let found = pointers.iter().find_map(|pointer| event.pointer(pointer)?.as_str());
        found.filter(|text| !text.is_empty())
    };
    let times = [
        "/lastTimestamp",
        "/deprecatedLastTimestamp",
        "/series/lastObservedTime",
        "/eventTime",
        "/metadata/creationTimestamp",
    ];
    let at = times.iter().find_map(|pointer| time::parse(event.pointer(pointer)?.as_str()?));
    let at = at.or(row_time).ok_or("the event has no time")?;
    let kind = text(&["/involvedObject/kind", "/regarding/kind"]);
    let name = text(&["/involvedObject/name", "/regarding/name"]);
    let (Some(kind), Some(name)) = (kind, name) else { return Err("the event names no object") };
    let namespace = text(&["/involvedObject/namespace", "/regarding/namespace"]);
    let version = text(&["/involvedObject/apiVersion", "/regarding/apiVersion"]);
    let entity =
        EntityName::new(namespace, kind, name).id().ok_or("the object has no usable name")?;
    let firsts = ["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"];
    let first = firsts.iter().find_map(|pointer| time::parse(event.pointer(pointer)?.as_str()?));
    let counts = ["/count", "/deprecatedCount", "/series/count"];
    let count = counts.iter().find_map(|pointer| event.pointer(pointer)?.as_u64()).unwrap_or(1);
    let reason = text(&["/reason"]).unwrap_or("Unknown");
    let message = text(&["/message", "/note"]).unwrap_or_default();
    let identity = match text(&["/metadata/uid", "/metadata/name"]) {
        Some(id) => id.to_owned(),
        None => format!("{entity} {reason} {message}"),
    };
    let components = [
        "/source/component",
        "/deprecatedSource/component",
        "/reportingController",
        "/reportingComponent",
    ];
    let record = EventRecord {
        at,
        first_at: first.unwrap_or(at).min(at),
        component: shorten(text(&components).unwrap_or_default(), 80),
        reason: shorten(reason, 80),
        is_warning: text(&["/type"]) == Some("Warning"),
        message: shorten(message, MAX_TEXT),
        count,
        is_experiment: version.is_some_and(is_experiment_group),
        host: bounded(
            text(&["/source/host", "/deprecatedSource/host"]).unwrap_or_default().to_owned(),
        ),
        file: file.to_owned(),
        entity,
    };
    Ok(((identity, count, at), record))
}
