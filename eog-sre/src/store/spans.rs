//! Spans, column by column.

use std::sync::Arc;

use eog_core::Timestamp;

use super::{Resource, Texts, Times, cell, number, reorder};

/// The role of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SpanKind {
    Server,
    Client,
    Producer,
    Consumer,
    #[default]
    Internal,
}

/// The number of a row or of a dictionary's entry, or none, in four bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link(pub(crate) u32);

impl Link {
    /// A link to a number.
    pub(crate) fn to(number: u32) -> Self {
        Self(number.saturating_add(1))
    }

    /// The number, if there is one.
    pub(crate) fn get(self) -> Option<u32> {
        self.0.checked_sub(1)
    }
}

/// All spans of a snapshot in time order. Texts are numbers into `texts`.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    pub(crate) at: Times,
    /// In nanoseconds.
    pub(crate) duration: Vec<u64>,
    /// Into `senders`.
    pub(crate) sender: Vec<u32>,
    pub(crate) name: Vec<u32>,
    pub(crate) kind: Vec<SpanKind>,
    pub(crate) failed: Vec<bool>,
    pub(crate) message: Vec<u32>,
    /// Traces numbered as they come.
    pub(crate) trace: Vec<u32>,
    /// The trace for people who look it up, of failed spans alone.
    pub(crate) trace_text: Vec<u32>,
    /// The parent's row, when that is in the recording.
    pub(crate) parent: Vec<Link>,
    /// Of a client span the sender of a span that took the call, when that is another service.
    pub(crate) callee: Vec<Link>,
    /// The host that a client span says it talks to, without port; empty if none.
    pub(crate) peer_host: Vec<u32>,
    pub(crate) file: Vec<u32>,
    pub(crate) senders: Vec<Arc<Resource>>,
    pub(crate) texts: Texts,
}

/// A span on its way into the columns.
pub(crate) struct NewSpan {
    pub(crate) at: i64,
    pub(crate) duration: u64,
    pub(crate) sender: u32,
    pub(crate) name: u32,
    pub(crate) kind: SpanKind,
    pub(crate) failed: bool,
    pub(crate) message: u32,
    pub(crate) trace: u32,
    pub(crate) trace_text: u32,
    pub(crate) peer_host: u32,
    pub(crate) file: u32,
}

impl Spans {
    /// Bytes of a row, twice, since columns that grow hold a reserve, and of its ids.
    pub(crate) const ROW: usize = 2 * (8 + 8 + 9 * 4 + 2) + 2 * 8 + 8;

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A span by its row.
    pub(crate) fn get(&self, row: u32) -> SpanRef<'_> {
        SpanRef { spans: self, row }
    }

    /// All spans in time order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = SpanRef<'_>> {
        self.rows(0..self.len())
    }

    /// The spans of some rows, in time order.
    pub(crate) fn rows(
        &self,
        rows: std::ops::Range<usize>,
    ) -> impl ExactSizeIterator<Item = SpanRef<'_>> {
        rows.map(|row| self.get(number(row)))
    }

    /// Who sent spans, by number.
    pub(crate) fn sender(&self, number: u32) -> &Resource {
        static NOBODY: Resource = Resource::nobody();
        self.senders.get(number as usize).map_or(&NOBODY, AsRef::as_ref)
    }

    /// Adds a span at the end. Parent and callee come when all rows have their places.
    pub(crate) fn push(&mut self, new: &NewSpan) {
        self.at.0.push(new.at);
        self.duration.push(new.duration);
        self.sender.push(new.sender);
        self.name.push(new.name);
        self.kind.push(new.kind);
        self.failed.push(new.failed);
        self.message.push(new.message);
        self.trace.push(new.trace);
        self.trace_text.push(new.trace_text);
        self.peer_host.push(new.peer_host);
        self.file.push(new.file);
    }

    /// Puts the rows into another order, before they know of each other.
    pub(crate) fn reorder(&mut self, order: &[u32]) {
        let Self { at, duration, kind, failed, .. } = self;
        reorder(&mut at.0, order);
        reorder(duration, order);
        reorder(kind, order);
        reorder(failed, order);
        let Self { sender, name, message, trace, trace_text, peer_host, file, .. } = self;
        for column in [sender, name, message, trace, trace_text, peer_host, file] {
            reorder(column, order);
        }
    }

    /// Gives back what the columns hold in reserve.
    pub(crate) fn shrink_to_fit(&mut self) {
        let Self { at, duration, kind, failed, .. } = self;
        at.0.shrink_to_fit();
        duration.shrink_to_fit();
        kind.shrink_to_fit();
        failed.shrink_to_fit();
        let Self { sender, name, message, trace, trace_text, peer_host, file, .. } = self;
        for column in [sender, name, message, trace, trace_text, peer_host, file] {
            column.shrink_to_fit();
        }
    }
}

/// One span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanRef<'a> {
    spans: &'a Spans,
    row: u32,
}

impl<'a> SpanRef<'a> {
    fn cell<T: Copy + Default>(self, column: &[T]) -> T {
        cell(column, self.row as usize)
    }

    /// Its row.
    pub(crate) fn row(self) -> u32 {
        self.row
    }

    /// When it began.
    pub(crate) fn at(self) -> Timestamp {
        self.spans.at.get(self.row as usize)
    }

    pub(crate) fn duration_ms(self) -> f64 {
        self.cell(&self.spans.duration) as f64 / 1e6
    }

    pub(crate) fn sender(self) -> &'a Resource {
        self.spans.sender(self.sender_number())
    }

    /// The sender's number, to compare.
    pub(crate) fn sender_number(self) -> u32 {
        self.cell(&self.spans.sender)
    }

    pub(crate) fn name(self) -> &'a str {
        self.spans.texts.get(self.cell(&self.spans.name))
    }

    pub(crate) fn kind(self) -> SpanKind {
        self.cell(&self.spans.kind)
    }

    pub(crate) fn failed(self) -> bool {
        self.cell(&self.spans.failed)
    }

    /// What it says of its outcome; may be empty.
    pub(crate) fn message(self) -> &'a str {
        self.spans.texts.get(self.cell(&self.spans.message))
    }

    /// The trace's number, to compare.
    pub(crate) fn trace_number(self) -> u32 {
        self.cell(&self.spans.trace)
    }

    /// The trace for people who look it up, of a failed span; else empty.
    pub(crate) fn trace(self) -> &'a str {
        self.spans.texts.get(self.cell(&self.spans.trace_text))
    }

    /// The parent, when that is in the recording.
    pub(crate) fn parent(self) -> Option<SpanRef<'a>> {
        self.cell(&self.spans.parent).get().map(|row| self.spans.get(row))
    }

    /// Of a client span the number of a sender that took the call, when that is another service.
    pub(crate) fn callee_number(self) -> Option<u32> {
        self.cell(&self.spans.callee).get()
    }

    /// The host that a client span says it talks to, without port.
    pub(crate) fn peer_host(self) -> Option<&'a str> {
        Some(self.spans.texts.get(self.cell(&self.spans.peer_host))).filter(|host| !host.is_empty())
    }

    /// All that tells whom a client span says it talks to, to compare: sender, name and host.
    pub(crate) fn address(self) -> (u32, u32, u32) {
        let Spans { name, peer_host, .. } = self.spans;
        (self.sender_number(), self.cell(name), self.cell(peer_host))
    }

    pub(crate) fn file(self) -> &'a str {
        self.spans.texts.get(self.cell(&self.spans.file))
    }
}
