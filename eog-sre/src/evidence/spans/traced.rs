//! Spans of a snapshot as requests and calls with their places, for accounts over them.

use eog_evidence::{SpanPlace, TracedSpan};

use super::{SpanIndex, SpanKind};
use crate::store::{SpanRef, Spans};

/// Most steps up to the span that a span is a part of.
const MAX_DEPTH: usize = 64;

impl SpanIndex {
    /// The requests that entities served and the calls that they made. Spans in between, within one service, are passed over:
    /// what they hold belongs to the next request or call above.
    pub(crate) fn traced<'a>(&'a self, spans: &'a Spans) -> Vec<TracedSpan<'a>> {
        // Whether a row counts as a request or as a call.
        let mut counts = vec![false; spans.len()];
        let mut listed = Vec::new();
        for (entity, rows) in &self.served {
            let rows = rows.iter().map(|row| spans.get(*row));
            // The requests of one that serves nothing are those it begins by itself.
            let served = rows.filter(|span| match span.kind() {
                SpanKind::Server | SpanKind::Consumer => true,
                SpanKind::Internal => span.parent().is_none(),
                SpanKind::Client | SpanKind::Producer => false,
            });
            listed.extend(served.map(|span| (span, entity, None)));
        }
        for (caller, callees) in &self.calls {
            for (callee, rows) in callees {
                let made = rows.iter().map(|row| spans.get(*row)).filter_map(waiting_span);
                listed.extend(made.map(|span| (span, caller, Some(callee))));
            }
        }
        for (span, ..) in &listed {
            if let Some(slot) = counts.get_mut(span.row() as usize) {
                *slot = true;
            }
        }
        let is_counted = |span: &SpanRef<'_>| counts.get(span.row() as usize) == Some(&true);
        let traced = listed.iter().map(|(span, entity, callee)| {
            let above = std::iter::successors(span.parent(), |above| above.parent());
            let parent = above.take(MAX_DEPTH).find(is_counted);
            TracedSpan {
                time: span.at(),
                entity,
                duration_ms: span.duration_ms(),
                failed: Some(span.failed()),
                callee: *callee,
                operation: span.name(),
                place: Some(SpanPlace {
                    span: u64::from(span.row()),
                    parent: parent.map(|parent| u64::from(parent.row())),
                }),
            }
        });
        traced.collect()
    }
}

/// The span that shows how long a caller waited: of a message the one that sent it.
fn waiting_span(call: SpanRef<'_>) -> Option<SpanRef<'_>> {
    match call.kind() {
        SpanKind::Consumer => call.parent().filter(|sent| sent.kind() == SpanKind::Producer),
        _ => Some(call),
    }
}
