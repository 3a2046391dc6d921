//! Log lines, column by column.

use std::sync::Arc;

use eog_core::Timestamp;
use eog_evidence::words;

use super::{Resource, Texts, Times, cell, number, reorder};

columns! {
    /// All log lines of a snapshot in time order. Texts are numbers into `texts`.
    Logs,
    /// One log line.
    LogRef,
    /// A line on its way into the columns.
    NewLog {
        /// Into `senders`.
        sender: u32,
        /// OpenTelemetry's severity number: 9 information, 13 warning, 17 error; 0 unknown.
        severity: u8,
        text: u32,
        pattern: u32,
        /// The trace or request that an error line names; empty of other lines.
        request: u32,
        file: u32,
    }
}

impl Logs {
    /// Bytes of a row, twice, since columns that grow hold a reserve.
    pub(crate) const ROW: usize = 2 * (8 + 5 * 4 + 1);
}

impl<'a> LogRef<'a> {
    /// OpenTelemetry's severity number; 0 unknown.
    pub(crate) fn severity(self) -> u8 {
        self.cell(&self.of.severity)
    }

    pub(crate) fn text(self) -> &'a str {
        self.text_in(&self.of.text)
    }

    /// The text without what differs from line to line.
    pub(crate) fn pattern(self) -> &'a str {
        self.of.texts.get(self.pattern_number())
    }

    /// The pattern's number, to compare.
    pub(crate) fn pattern_number(self) -> u32 {
        self.cell(&self.of.pattern)
    }

    /// The trace or request that it names, of an error.
    pub(crate) fn request(self) -> Option<&'a str> {
        let request = self.text_in(&self.of.request);
        Some(request).filter(|request| !request.is_empty())
    }
}

/// Severity number from which a line counts as an error.
const ERROR: u8 = 17;

/// Whether a line reports an error. Information lines speak of errors as a topic; severity is trusted when it is given.
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
