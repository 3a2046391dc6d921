//! Where the lines of a file begin, whatever ends them.

use std::collections::VecDeque;
use std::io::{self, Read};

/// Passes a file on and remembers its line ends, so that a record is named by its physical line.
///
/// The `csv` crate counts a line when its `\n` is consumed. Of `\r\n` that happens with the next
/// record, as it does with empty lines, so its own numbers are too low behind these.
pub(super) struct Breaks<R> {
    source: R,
    /// How many bytes were passed on.
    passed: u64,
    /// Runs of line ends that no record has been asked for yet, in order.
    runs: VecDeque<Run>,
    /// The last byte that was passed on ends a run.
    is_open: bool,
    /// The line of what follows the runs that are gone.
    line: u64,
    /// Where the record begins that was asked for last.
    asked: u64,
}

/// Longest stretch of a file that may be one record: beyond it a quote was never closed.
pub(super) const MAX_RECORD: u64 = 4 * 1024 * 1024;

/// Neighbouring `\r` and `\n`.
struct Run {
    /// The offset of the first.
    start: u64,
    /// How many `\n` there are.
    lines: u64,
}

impl<R> Breaks<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, passed: 0, runs: VecDeque::new(), is_open: false, line: 1, asked: 0 }
    }

    /// The line, from 1, on which the record begins that the reader takes from this offset on.
    /// Offsets must not fall. Line ends there are passed over, as the reader does.
    pub(super) fn line_at(&mut self, offset: u64) -> u64 {
        self.asked = self.asked.max(offset);
        while let Some(run) = self.runs.front().filter(|run| run.start <= offset) {
            self.line += run.lines;
            self.runs.pop_front();
        }
        self.line
    }
}

impl<R> Breaks<R> {
    /// Whether more was passed on since the last record than any may have.
    pub(super) fn is_endless(&self) -> bool {
        self.passed - self.asked > MAX_RECORD
    }
}

impl<R: Read> Read for Breaks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_endless() {
            return Err(io::Error::other("a record without an end"));
        }
        let count = self.source.read(buffer)?;
        for byte in buffer.iter().take(count) {
            let is_break = matches!(byte, b'\r' | b'\n');
            if is_break && !self.is_open {
                self.runs.push_back(Run { start: self.passed, lines: 0 });
            }
            if let (b'\n', Some(run)) = (byte, self.runs.back_mut()) {
                run.lines += 1;
            }
            self.is_open = is_break;
            self.passed += 1;
        }
        Ok(count)
    }
}
