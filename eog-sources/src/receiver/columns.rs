//! Records in columns: one vector for each field, and every text once.

use indexmap::IndexSet;

use crate::piece::{Millis, Who};

/// A span as it is taken in, its texts masked.
#[derive(Clone, Debug)]
pub(super) struct SpanRow {
    pub(super) start: i64,
    pub(super) nanoseconds: u64,
    pub(super) who: Who,
    pub(super) trace: [u8; 16],
    pub(super) id: [u8; 8],
    pub(super) parent: [u8; 8],
    pub(super) name: String,
    pub(super) kind: u8,
    pub(super) failed: bool,
    /// Whom it says it asks.
    pub(super) peer: String,
    pub(super) message: String,
}

/// A line of a log.
#[derive(Clone, Debug)]
pub(super) struct LineRow {
    pub(super) at: i64,
    pub(super) who: Who,
    pub(super) level: String,
    pub(super) text: String,
    pub(super) trace: [u8; 16],
}

/// What the points of a series have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SeriesKey {
    pub(super) who: Who,
    pub(super) metric: String,
    /// Who is asked, for metrics of clients.
    pub(super) peer: String,
    pub(super) failed: bool,
    pub(super) kind: PointKind,
    /// A hash of all attributes and of the resource: streams are told apart by it.
    pub(super) stream: u64,
}

/// What a point means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PointKind {
    /// A level at a time.
    Level,
    /// Count and sum since the start of the process.
    Cumulative,
    /// Count and sum since the point before.
    Delta,
}

/// A point of a series: a level is in `sum`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) at: Millis,
    pub(super) count: f64,
    pub(super) sum: f64,
}

#[derive(Debug, Default)]
struct Spans {
    start: Vec<i64>,
    nanoseconds: Vec<u64>,
    who: Vec<u32>,
    trace: Vec<[u8; 16]>,
    id: Vec<[u8; 8]>,
    parent: Vec<[u8; 8]>,
    name: Vec<u32>,
    kind: Vec<u8>,
    failed: Vec<bool>,
    peer: Vec<u32>,
    message: Vec<u32>,
}

#[derive(Debug, Default)]
struct Lines {
    at: Vec<i64>,
    who: Vec<u32>,
    level: Vec<u32>,
    text: Vec<u32>,
    trace: Vec<[u8; 16]>,
}

#[derive(Debug, Default)]
struct Points {
    series: Vec<u32>,
    at: Vec<Millis>,
    count: Vec<f64>,
    sum: Vec<f64>,
}

/// Bytes of a row over all columns. A vector that grows has room for as much again.
const SPAN_BYTES: usize = 2 * (8 + 8 + 4 + 16 + 8 + 8 + 4 + 1 + 1 + 4 + 4);
const LINE_BYTES: usize = 2 * (8 + 4 + 4 + 4 + 16);
const POINT_BYTES: usize = 2 * (4 + 8 + 8 + 8);

/// What an entry of a dictionary takes beside its text: pointers, hash, slot, and the allocator's own.
const ENTRY_BYTES: usize = 96;

/// Records that came one after another.
#[derive(Debug, Default)]
pub(super) struct Columns {
    texts: IndexSet<Box<str>>,
    whos: IndexSet<Who>,
    series: IndexSet<SeriesKey>,
    spans: Spans,
    lines: Lines,
    points: Points,
    bytes: usize,
}

impl Columns {
    /// An estimate from above of the memory that is taken, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many records there are.
    pub(super) fn records(&self) -> usize {
        self.spans.start.len() + self.lines.at.len() + self.points.at.len()
    }

    pub(super) fn add_span(&mut self, row: SpanRow) {
        let (who, name) = (self.who(row.who), self.text(row.name));
        let (peer, message) = (self.text(row.peer), self.text(row.message));
        let spans = &mut self.spans;
        spans.start.push(row.start);
        spans.nanoseconds.push(row.nanoseconds);
        spans.who.push(who);
        spans.trace.push(row.trace);
        spans.id.push(row.id);
        spans.parent.push(row.parent);
        spans.name.push(name);
        spans.kind.push(row.kind);
        spans.failed.push(row.failed);
        spans.peer.push(peer);
        spans.message.push(message);
        self.bytes += SPAN_BYTES;
    }

    pub(super) fn add_line(&mut self, row: LineRow) {
        let (who, level, text) = (self.who(row.who), self.text(row.level), self.text(row.text));
        let lines = &mut self.lines;
        lines.at.push(row.at);
        lines.who.push(who);
        lines.level.push(level);
        lines.text.push(text);
        lines.trace.push(row.trace);
        self.bytes += LINE_BYTES;
    }

    pub(super) fn add_point(&mut self, key: SeriesKey, point: Point) {
        let size = ENTRY_BYTES * 3 + key.metric.len() + key.peer.len();
        let (series, is_new) = self.series.insert_full(key);
        self.bytes += POINT_BYTES + if is_new { size } else { 0 };
        self.points.series.push(number(series));
        self.points.at.push(point.at);
        self.points.count.push(point.count);
        self.points.sum.push(point.sum);
    }

    /// Spans, the last one first.
    pub(super) fn spans(&self) -> impl Iterator<Item = SpanRow> {
        let it = &self.spans;
        (0..it.start.len()).rev().filter_map(move |at| {
            Some(SpanRow {
                start: *it.start.get(at)?,
                nanoseconds: *it.nanoseconds.get(at)?,
                who: self.whos.get_index(*it.who.get(at)? as usize)?.clone(),
                trace: *it.trace.get(at)?,
                id: *it.id.get(at)?,
                parent: *it.parent.get(at)?,
                name: self.said(*it.name.get(at)?),
                kind: *it.kind.get(at)?,
                failed: *it.failed.get(at)?,
                peer: self.said(*it.peer.get(at)?),
                message: self.said(*it.message.get(at)?),
            })
        })
    }

    /// Lines, the last one first.
    pub(super) fn lines(&self) -> impl Iterator<Item = LineRow> {
        let it = &self.lines;
        (0..it.at.len()).rev().filter_map(move |at| {
            Some(LineRow {
                at: *it.at.get(at)?,
                who: self.whos.get_index(*it.who.get(at)? as usize)?.clone(),
                level: self.said(*it.level.get(at)?),
                text: self.said(*it.text.get(at)?),
                trace: *it.trace.get(at)?,
            })
        })
    }

    /// Points with their series, in the order in which they came.
    pub(super) fn points(&self) -> impl Iterator<Item = (&SeriesKey, Point)> {
        let it = &self.points;
        (0..it.at.len()).filter_map(move |at| {
            let series = self.series.get_index(*it.series.get(at)? as usize)?;
            let point =
                Point { at: *it.at.get(at)?, count: *it.count.get(at)?, sum: *it.sum.get(at)? };
            Some((series, point))
        })
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
