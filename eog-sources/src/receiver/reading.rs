//! What a window holds of a period, as a piece.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::columns::{Columns, LineRow, SpanRow};
use super::window::Window;
use crate::period::{Period, shown};
use crate::piece::{Line, Millis, Piece, Span};

/// Since when the window is held may lie so much after the begin of a period, in milliseconds.
const LATE: Millis = 60_000;

/// What was received of a period: at most so many spans and lines, the latest ones.
pub(super) fn piece(window: &Window, period: Period, spans: usize, lines: usize) -> Piece {
    let mut piece = Piece::default();
    if window.since() > period.from + LATE {
        piece.notes.push(format!("OTLP is held since {} alone", shown(window.since())));
    }
    let rows = window.parts().rev().flat_map(Columns::spans);
    let mut rows = rows.filter(|row| period.contains(row.start / 1_000_000));
    piece.spans = rows.by_ref().take(spans).map(span).collect();
    piece.spans.reverse();
    let left = rows.count();
    let rows = window.parts().rev().flat_map(Columns::lines);
    let mut rows = rows.filter(|row| period.contains(row.at / 1_000_000));
    piece.lines = rows.by_ref().take(lines).map(line).collect();
    piece.lines.reverse();
    let left = left + rows.count();
    if left > 0 {
        piece.missing.push(format!("{left} records beyond max_spans or max_logs, the oldest ones"));
    }
    let points = window.parts().flat_map(Columns::points);
    crate::metrics::series(points, period, &mut piece);
    piece
}

fn hex(bytes: &[u8]) -> String {
    if bytes.iter().all(|byte| *byte == 0) {
        return String::new();
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(super) fn span(row: SpanRow) -> Span {
    let kinds = ["", "Internal", "Server", "Client", "Producer", "Consumer"];
    let peer = Some(row.peer).filter(|peer| !peer.is_empty());
    Span {
        start: row.start,
        nanoseconds: row.nanoseconds,
        who: row.who,
        trace: hex(&row.trace),
        id: hex(&row.id),
        parent: hex(&row.parent),
        name: row.name,
        kind: kinds.get(usize::from(row.kind)).copied().unwrap_or_default().to_owned(),
        failed: Some(row.failed),
        message: row.message,
        resource: BTreeMap::new(),
        attributes: peer.map(|peer| ("peer.service".to_owned(), peer)).into_iter().collect(),
    }
}

pub(super) fn line(row: LineRow) -> Line {
    Line {
        at: row.at,
        who: row.who,
        level: row.level,
        text: row.text,
        trace: hex(&row.trace),
        resource: BTreeMap::new(),
    }
}
