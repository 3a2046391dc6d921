//! Traced spans as books are drawn up over them, wherever they were recorded.

use std::collections::BTreeMap;

use eog_core::evidence::PeerRole;
use eog_core::{EntityId, Timestamp};

use crate::spans::SpanRecord;

/// One span: a request that its entity served, or a call that it made.
#[derive(Clone, Copy, Debug)]
pub struct TracedSpan<'a> {
    /// When it began.
    pub time: Timestamp,
    /// The entity that served the request or made the call.
    pub entity: &'a EntityId,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// Whether it failed, if that is known.
    pub failed: Option<bool>,
    /// The callee; none for a request that was served.
    pub callee: Option<&'a EntityId>,
    /// What was done, such as `GET /cart`; empty where that is not known. Untrusted text.
    pub operation: &'a str,
    /// Its place among the others, where that was recorded.
    pub place: Option<SpanPlace>,
}

/// The place of a span in its trace, by numbers that no two requests, and no two calls, of any traces share. A call and
/// the request that it became may have one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanPlace {
    /// The span itself.
    pub span: u64,
    /// What it is a part of.
    pub parent: Option<u64>,
}

/// Recorded spans with numbers for their ids.
pub(super) fn numbered<'a>(spans: impl Iterator<Item = &'a SpanRecord>) -> Vec<TracedSpan<'a>> {
    let mut numbers: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut number = |trace: &'a str, span: &'a str| {
        let fresh = numbers.len() as u64;
        *numbers.entry((trace, span)).or_insert(fresh)
    };
    let spans = spans.map(|span| {
        let callee = span.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee);
        let place = span.ids.as_ref().map(|ids| SpanPlace {
            span: number(&ids.trace, &ids.span),
            parent: ids.parent.as_ref().map(|parent| number(&ids.trace, parent)),
        });
        TracedSpan {
            time: span.time,
            entity: &span.entity,
            duration_ms: span.duration_ms,
            failed: span.failed,
            callee: callee.map(|callee| &callee.entity),
            operation: span.operation.as_deref().unwrap_or_default(),
            place,
        }
    });
    spans.collect()
}
