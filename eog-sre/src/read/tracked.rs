//! A byte source that remembers where lines and quotes are, for a reader that does not.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};

/// Longest record, in bytes. A record beyond it is a quote that nobody closed.
pub const MAX_RECORD_BYTES: u64 = 8 * 1024 * 1024;

/// Wraps a file under a CSV reader: counts lines, watches for a quote that never closes, and stops
/// a record that grows without end.
pub(crate) struct Tracked<R> {
    inner: R,
    /// Offset of the next byte to be read.
    offset: u64,
    /// Where the record that is being read starts.
    record_start: u64,
    /// Line ends not yet passed by [`Self::line_of`].
    line_ends: VecDeque<LineEnd>,
    /// Whether the line under way is blank so far.
    blank: bool,
    /// Line ends passed so far.
    lines: u64,
    odd_quotes: bool,
    ended: bool,
    too_long: bool,
}

/// Where a line ends, and whether there is nothing on it.
struct LineEnd {
    offset: u64,
    blank: bool,
}

impl<R: Read + Seek> Tracked<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            offset: 0,
            record_start: 0,
            line_ends: VecDeque::new(),
            blank: true,
            lines: 0,
            odd_quotes: false,
            ended: false,
            too_long: false,
        }
    }

    /// Tells where the next record starts.
    pub(crate) fn begin_record(&mut self, start: u64) {
        self.record_start = start;
    }

    /// The physical line, counted from 1, on which the record that begins at `start` is written.
    /// Blank lines before a record do not belong to it. `start` never goes down.
    pub(crate) fn line_of(&mut self, start: u64) -> u64 {
        while self.line_ends.front().is_some_and(|end| end.offset < start || end.blank) {
            self.line_ends.pop_front();
            self.lines += 1;
        }
        self.lines + 1
    }

    /// Whether the file ended inside a quoted field.
    pub(crate) fn ended_in_quotes(&self) -> bool {
        self.ended && self.odd_quotes
    }

    /// Whether reading failed because a record is longer than [`MAX_RECORD_BYTES`].
    pub(crate) fn record_too_long(&self) -> bool {
        self.too_long
    }

    /// Goes back to the second line of the record that began at `start`, so that one broken quote
    /// does not swallow the rows behind it.
    pub(crate) fn resume_after_line_of(mut self, start: u64) -> io::Result<Self> {
        self.line_of(start);
        let next = self.line_ends.front().map_or(self.offset, |end| end.offset.saturating_add(1));
        self.inner.seek(SeekFrom::Start(next))?;
        let lines = self.lines + u64::from(!self.line_ends.is_empty());
        let fresh = Self::new(self.inner);
        Ok(Self { offset: next, record_start: next, lines, ..fresh })
    }

    /// The offset of the first byte after the last resume.
    pub(crate) fn base(&self) -> u64 {
        self.record_start
    }
}

/// Whether a part of a line holds nothing but carriage returns.
fn is_blank(part: Option<&[u8]>) -> bool {
    part.unwrap_or_default().iter().all(|byte| *byte == b'\r')
}

impl<R: Read> Read for Tracked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.offset.saturating_sub(self.record_start) > MAX_RECORD_BYTES {
            self.too_long = true;
            return Err(io::Error::other("a record is too long"));
        }
        let count = self.inner.read(buffer)?;
        self.ended |= count == 0 && !buffer.is_empty();
        let bytes = buffer.get(..count).unwrap_or_default();
        let quotes = memchr::memchr_iter(b'"', bytes).count();
        self.odd_quotes ^= quotes % 2 == 1;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            let blank = self.blank && is_blank(bytes.get(start..end));
            self.line_ends.push_back(LineEnd { offset: self.offset + end as u64, blank });
            self.blank = true;
            start = end + 1;
        }
        self.blank &= is_blank(bytes.get(start..));
        self.offset += count as u64;
        Ok(count)
    }
}
