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

columns! {
    /// All spans of a snapshot in time order. Texts are numbers into `texts`.
    Spans,
    /// One span.
    SpanRef,
    /// A span on its way into the columns.
    NewSpan {
        /// In nanoseconds.
        duration: u64,
        /// Into `senders`.
        sender: u32,
        name: u32,
        kind: SpanKind,
        failed: bool,
        message: u32,
        /// Traces numbered as they come.
        trace: u32,
        /// The trace for people who look it up, of failed spans alone.
        trace_text: u32,
        /// The host that a client span says it talks to, without port; empty if none.
        peer_host: u32,
        file: u32,
    }
    /// The parent's row, when that is in the recording.
    parent: Vec<Link>,
    /// The sender of a span that took the call of a client span, when that is another service.
    callee: Vec<Link>,
}

impl Spans {
    /// Bytes of a row, twice, since columns that grow hold a reserve, and of its ids.
    pub(crate) const ROW: usize = 2 * (8 + 8 + 9 * 4 + 2) + 2 * 8 + 8;

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The spans of some rows, in time order.
    pub(crate) fn rows(
        &self,
        rows: std::ops::Range<usize>,
    ) -> impl ExactSizeIterator<Item = SpanRef<'_>> {
        rows.map(|row| self.get(number(row)))
    }
}

impl<'a> SpanRef<'a> {
    pub(crate) fn duration_ms(self) -> f64 {
        self.cell(&self.of.duration) as f64 / 1e6
    }

    pub(crate) fn name(self) -> &'a str {
        self.text_in(&self.of.name)
    }

    pub(crate) fn kind(self) -> SpanKind {
        self.cell(&self.of.kind)
    }

    pub(crate) fn failed(self) -> bool {
        self.cell(&self.of.failed)
    }

    /// What it says of its outcome; may be empty.
    pub(crate) fn message(self) -> &'a str {
        self.text_in(&self.of.message)
    }

    /// The trace's number, to compare.
    pub(crate) fn trace_number(self) -> u32 {
        self.cell(&self.of.trace)
    }

    /// The trace for people who look it up, of a failed span; else empty.
    pub(crate) fn trace(self) -> &'a str {
        self.text_in(&self.of.trace_text)
    }

    /// The parent, when that is in the recording.
    pub(crate) fn parent(self) -> Option<SpanRef<'a>> {
        self.cell(&self.of.parent).get().map(|row| self.of.get(row))
    }

    /// The number of a sender that took the call of a client span, when that is another service.
    pub(crate) fn callee_number(self) -> Option<u32> {
        self.cell(&self.of.callee).get()
    }

    /// The host that a client span says it talks to, without port.
    pub(crate) fn peer_host(self) -> Option<&'a str> {
        Some(self.text_in(&self.of.peer_host)).filter(|host| !host.is_empty())
    }

    /// All that identifies the callee of a client span, to compare: sender, name and host.
    pub(crate) fn address(self) -> (u32, u32, u32) {
        let Spans { name, peer_host, .. } = self.of;
        (self.sender_number(), self.cell(name), self.cell(peer_host))
    }
}
