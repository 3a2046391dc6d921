//! Records with every text once.

use indexmap::IndexSet;

use crate::metrics::{Point, SeriesKey};
use crate::piece::Who;

/// A span as it is taken in, its texts masked; by numbers of a dictionary as it is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpanRow<W = Who, T = String> {
    pub(super) start: i64,
    pub(super) nanoseconds: u64,
    pub(super) who: W,
    pub(super) trace: [u8; 16],
    pub(super) id: [u8; 8],
    pub(super) parent: [u8; 8],
    pub(super) name: T,
    pub(super) kind: u8,
    pub(super) failed: bool,
    /// The peer that it says it asks.
    pub(super) peer: T,
    pub(super) message: T,
}

/// A line of a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRow<W = Who, T = String> {
    pub(super) at: i64,
    pub(super) who: W,
    pub(super) level: T,
    pub(super) text: T,
    pub(super) trace: [u8; 16],
}

/// Bytes of a row. A vector that grows has room for as much again.
const SPAN_BYTES: usize = 2 * size_of::<SpanRow<u32, u32>>();
const LINE_BYTES: usize = 2 * size_of::<LineRow<u32, u32>>();
const POINT_BYTES: usize = 2 * size_of::<(u32, Point)>();

/// What an entry of a dictionary takes beside its text: pointers, hash, slot, and the allocator's own.
const ENTRY_BYTES: usize = 96;

/// Records that came one after another.
#[derive(Debug, Default)]
pub(super) struct Columns {
    texts: IndexSet<Box<str>>,
    whos: IndexSet<Who>,
    series: IndexSet<SeriesKey>,
    spans: Vec<SpanRow<u32, u32>>,
    lines: Vec<LineRow<u32, u32>>,
    points: Vec<(u32, Point)>,
    bytes: usize,
}

impl Columns {
    /// An estimate from above of the memory that is taken, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many records there are.
    pub(super) fn records(&self) -> usize {
        self.spans.len() + self.lines.len() + self.points.len()
    }

    pub(super) fn add_span(&mut self, row: SpanRow) {
        let SpanRow { start, nanoseconds, trace, id, parent, kind, failed, .. } = row;
        let (who, name) = (self.who(row.who), self.text(row.name));
        let (peer, message) = (self.text(row.peer), self.text(row.message));
        let row = SpanRow {
            start,
            nanoseconds,
            who,
            trace,
            id,
            parent,
            name,
            kind,
            failed,
            peer,
            message,
        };
        self.spans.push(row);
        self.bytes += SPAN_BYTES;
    }

    pub(super) fn add_line(&mut self, LineRow { at, who, level, text, trace }: LineRow) {
        let (who, level, text) = (self.who(who), self.text(level), self.text(text));
        self.lines.push(LineRow { at, who, level, text, trace });
        self.bytes += LINE_BYTES;
    }

    pub(super) fn add_point(&mut self, key: SeriesKey, point: Point) {
        let size = ENTRY_BYTES * 3 + key.metric.len() + key.peer.len() + key.unit.len();
        let (series, is_new) = self.series.insert_full(key);
        self.bytes += POINT_BYTES + if is_new { size } else { 0 };
        self.points.push((number(series), point));
    }

    /// Spans, the last one first.
    pub(super) fn spans(&self) -> impl Iterator<Item = SpanRow> {
        self.spans.iter().rev().filter_map(|row| {
            let SpanRow { start, nanoseconds, trace, id, parent, kind, failed, .. } = *row;
            let who = self.whos.get_index(row.who as usize)?.clone();
            let [name, peer, message] = [row.name, row.peer, row.message].map(|it| self.said(it));
            Some(SpanRow {
                start,
                nanoseconds,
                who,
                trace,
                id,
                parent,
                name,
                kind,
                failed,
                peer,
                message,
            })
        })
    }

    /// Lines, the last one first.
    pub(super) fn lines(&self) -> impl Iterator<Item = LineRow> {
        self.lines.iter().rev().filter_map(|LineRow { at, who, level, text, trace }| {
            let who = self.whos.get_index(*who as usize)?.clone();
            let [level, text] = [level, text].map(|it| self.said(*it));
            Some(LineRow { at: *at, who, level, text, trace: *trace })
        })
    }

    /// Points with their series, in the order in which they came.
    pub(super) fn points(&self) -> impl Iterator<Item = (&SeriesKey, Point)> {
        let points = self.points.iter();
        points
            .filter_map(|(series, point)| Some((self.series.get_index(*series as usize)?, *point)))
    }

    fn text(&mut self, text: String) -> u32 {
        let size = ENTRY_BYTES + text.len();
        let (at, is_new) = self.texts.insert_full(text.into_boxed_str());
        self.bytes += if is_new { size } else { 0 };
        number(at)
    }

    fn said(&self, at: u32) -> String {
        self.texts.get_index(at as usize).map(ToString::to_string).unwrap_or_default()
    }

    fn who(&mut self, who: Who) -> u32 {
        let (at, is_new) = self.whos.insert_full(who);
        self.bytes += if is_new { ENTRY_BYTES * 3 } else { 0 };
        number(at)
    }
}

/// A window is cut into parts long before there are so many records.
fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
