//! Log lines, column by column.

use std::sync::Arc;

use eog_core::Timestamp;
use eog_evidence::words;

use super::{Resource, Texts, Times, cell, number, reorder};

/// All log lines of a snapshot in time order. Texts are numbers into `texts`.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    pub(crate) at: Times,
    /// Into `senders`.
    pub(crate) sender: Vec<u32>,
    /// OpenTelemetry's severity number: 9 information, 13 warning, 17 error; 0 unknown.
    pub(crate) severity: Vec<u8>,
    pub(crate) text: Vec<u32>,
    pub(crate) pattern: Vec<u32>,
    /// The trace or request that an error line names; empty of other lines.
    pub(crate) request: Vec<u32>,
    pub(crate) file: Vec<u32>,
    pub(crate) senders: Vec<Arc<Resource>>,
    pub(crate) texts: Texts,
}

/// A line on its way into the columns.
pub(crate) struct NewLog {
    pub(crate) at: i64,
    pub(crate) sender: u32,
    pub(crate) severity: u8,
    pub(crate) text: u32,
    pub(crate) pattern: u32,
    pub(crate) request: u32,
    pub(crate) file: u32,
}

impl Logs {
    /// Bytes of a row, twice, since columns that grow hold a reserve.
    pub(crate) const ROW: usize = 2 * (8 + 5 * 4 + 1);

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.at.len()
    }

    /// A line by its row.
    pub(crate) fn get(&self, row: u32) -> LogRef<'_> {
        LogRef { logs: self, row }
    }

    /// All lines in time order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = LogRef<'_>> {
        (0..self.len()).map(|row| self.get(number(row)))
    }

    /// Adds a line at the end.
    pub(crate) fn push(&mut self, new: &NewLog) {
        self.at.0.push(new.at);
        self.sender.push(new.sender);
        self.severity.push(new.severity);
        self.text.push(new.text);
        self.pattern.push(new.pattern);
        self.request.push(new.request);
        self.file.push(new.file);
    }

    /// Puts the rows into another order.
    pub(crate) fn reorder(&mut self, order: &[u32]) {
        let Self { at, sender, severity, text, pattern, request, file, .. } = self;
        reorder(&mut at.0, order);
        reorder(severity, order);
        for column in [sender, text, pattern, request, file] {
            reorder(column, order);
        }
    }

    /// Gives back what the columns hold in reserve.
    pub(crate) fn shrink_to_fit(&mut self) {
        let Self { at, sender, severity, text, pattern, request, file, .. } = self;
        at.0.shrink_to_fit();
        severity.shrink_to_fit();
        for column in [sender, text, pattern, request, file] {
            column.shrink_to_fit();
        }
    }
}

/// One log line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogRef<'a> {
    logs: &'a Logs,
    row: u32,
}

impl<'a> LogRef<'a> {
    fn cell<T: Copy + Default>(self, column: &[T]) -> T {
        cell(column, self.row as usize)
    }

    /// Its row.
    pub(crate) fn row(self) -> u32 {
        self.row
    }

    /// When it was written.
    pub(crate) fn at(self) -> Timestamp {
        self.logs.at.get(self.row as usize)
    }

    pub(crate) fn sender(self) -> &'a Resource {
        static NOBODY: Resource = Resource::nobody();
        let found = self.logs.senders.get(self.sender_number() as usize);
        found.map_or(&NOBODY, AsRef::as_ref)
    }

    /// The sender's number, to compare.
    pub(crate) fn sender_number(self) -> u32 {
        self.cell(&self.logs.sender)
    }

    /// OpenTelemetry's severity number; 0 unknown.
    pub(crate) fn severity(self) -> u8 {
        self.cell(&self.logs.severity)
    }

    pub(crate) fn text(self) -> &'a str {
        self.logs.texts.get(self.cell(&self.logs.text))
    }

    /// The text without what differs from line to line.
    pub(crate) fn pattern(self) -> &'a str {
        self.logs.texts.get(self.pattern_number())
    }

    /// The pattern's number, to compare.
    pub(crate) fn pattern_number(self) -> u32 {
        self.cell(&self.logs.pattern)
    }

    /// The trace or request that it names, of an error.
    pub(crate) fn request(self) -> Option<&'a str> {
        let request = self.logs.texts.get(self.cell(&self.logs.request));
        Some(request).filter(|request| !request.is_empty())
    }

    pub(crate) fn file(self) -> &'a str {
        self.logs.texts.get(self.cell(&self.logs.file))
    }
}

/// Severity number from which a line counts as an error.
const ERROR: u8 = 17;

/// Whether a line tells of an error. Information lines speak of errors as a topic; severity is trusted when it is given.
pub(crate) fn says_error(severity: u8, text: &str) -> bool {
    const WORDS: [&str; 10] = [
        "error",
        "errors",
        "exception",
        "failed",
        "failure",
        "fatal",
        "panic",
        "refused",
        "timeout",
        "unavailable",
    ];
    let says_error = || words(text).iter().any(|word| WORDS.contains(&word.as_str()));
    severity >= ERROR || (!(1..=12).contains(&severity) && says_error())
}
