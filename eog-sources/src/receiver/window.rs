//! A rolling window over what was received, bounded in time and bytes: the oldest part goes first.

use std::collections::VecDeque;

use super::columns::{Columns, LineRow, SpanRow};
use super::{ReceivedFigures, now};
use crate::config::Otlp as Config;
use crate::metrics::Points;
use crate::piece::Millis;

/// In so many parts the window is cut; one is dropped at a time.
const PARTS: i64 = 32;

#[derive(Debug)]
struct Part {
    began: Millis,
    columns: Columns,
}

#[derive(Debug)]
pub(super) struct Window {
    parts: VecDeque<Part>,
    length: Millis,
    most: usize,
    /// Since when everything that came is held.
    since: Millis,
    figures: ReceivedFigures,
}

/// Records of one request.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) spans: Vec<SpanRow>,
    pub(super) lines: Vec<LineRow>,
    pub(super) points: Points,
    pub(super) refused: u64,
}

impl Rows {
    /// Whether there are any.
    pub(super) fn is_any(&self) -> bool {
        !self.spans.is_empty() || !self.lines.is_empty() || !self.points.is_empty()
    }
}

impl Window {
    pub(super) fn new(config: &Config) -> Self {
        let length = i64::try_from(config.window.as_millis()).unwrap_or(i64::MAX);
        Self {
            parts: VecDeque::new(),
            length,
            most: config.window_bytes,
            since: now(),
            figures: ReceivedFigures::default(),
        }
    }

    /// Takes in what came at a time.
    pub(super) fn take(&mut self, rows: Rows, now: Millis) {
        self.figures.refused += rows.refused;
        self.roll(now);
        // A request may be longer than a part.
        for row in rows.spans {
            self.part(now).add_span(row);
        }
        for row in rows.lines {
            self.part(now).add_line(row);
        }
        for (key, point) in rows.points {
            self.part(now).add_point(key, point);
        }
        self.shrink(now);
    }

    /// The part that is open now.
    fn part(&mut self, now: Millis) -> &mut Columns {
        self.figures.taken += 1;
        let is_full = self.parts.back().is_none_or(|last| {
            let part = self.most / usize::try_from(PARTS).unwrap_or(1);
            now - last.began >= self.length / PARTS || last.columns.bytes() >= part
        });
        if is_full {
            self.shrink(now);
            self.parts.push_back(Part { began: now, columns: Columns::default() });
        }
        let last = self.parts.len() - 1;
        &mut self.parts[last].columns
    }

    /// Drops what is too old.
    pub(super) fn roll(&mut self, now: Millis) {
        // A part ends where the next one begins, or by its length.
        let part = self.length / PARTS;
        while self.parts.front().is_some_and(|it| it.began + part < now - self.length) {
            self.parts.pop_front();
            self.since = self.parts.front().map_or(now, |it| it.began);
        }
    }

    /// Drops what is too much.
    fn shrink(&mut self, now: Millis) {
        while self.bytes() > self.most && self.parts.len() > 1 {
            if let Some(part) = self.parts.pop_front() {
                self.figures.dropped += part.columns.records() as u64;
            }
            self.since = self.parts.front().map_or(now, |it| it.began);
        }
    }

    fn bytes(&self) -> usize {
        self.parts.iter().map(|it| it.columns.bytes()).sum()
    }

    pub(super) fn figures(&mut self) -> ReceivedFigures {
        self.roll(now());
        let held = self.parts.iter().map(|it| it.columns.records() as u64).sum();
        ReceivedFigures { held, bytes: self.bytes() as u64, ..self.figures }
    }

    /// Since when all that came is held.
    pub(super) fn since(&self) -> Millis {
        self.since
    }

    /// The parts, oldest first.
    pub(super) fn parts(&self) -> impl DoubleEndedIterator<Item = &Columns> {
        self.parts.iter().map(|it| &it.columns)
    }
}
