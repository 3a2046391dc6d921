//! Findings from log lines, grouped by what they say: what is new, comes more or less often, stays away or
//! comes in another order.

mod book;
mod findings;
mod level;

use eog_core::contract::EvidenceQuery;
use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::{EntityId, Finding, Timestamp, Window};

use crate::log_joins::request_id;
use crate::series::Periods;
use crate::text::counted;
use book::Book;
use findings::Writer;
use level::Level;

/// At most this many patterns of errors and warnings are kept for one entity, and as many of other
/// lines; further ones are only counted.
pub const MAX_LOG_PATTERNS: usize = 200;

/// Longest quoted message, in characters.
const MAX_MESSAGE: usize = 400;

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When it was written.
    pub time: Timestamp,
    /// How severe it says it is, such as `error` or `WARN`.
    pub level: String,
    /// The message. Untrusted text.
    pub message: String,
    /// What it speaks of, if the source knows.
    pub signal: Option<Signal>,
    /// Another entity that it names, if the source knows.
    pub peer: Option<Peer>,
    /// The request or trace that it belongs to, where that is recorded beside the message. Untrusted text.
    pub trace: Option<String>,
}

impl LogLine {
    /// The request that an error belongs to: as recorded, or as the message says.
    pub(crate) fn failed_request(&self) -> Option<&str> {
        let is_error = Level::of(&self.level) == Level::Error;
        let recorded = || self.trace.as_deref().or_else(|| request_id(&self.message));
        is_error.then(recorded)?
    }
}

/// The log lines of one entity, grouped by level, signal, peer and masked message.
///
/// Messages are grouped as a [`Miner`](crate::Miner) groups them, with [`HOLE`](crate::HOLE) for what varies.
///
/// ```
/// use eog_core::{EntityId, Window};
/// use eog_evidence::{LogLine, LogPatterns, Periods};
/// let mut patterns = LogPatterns::new(EntityId::new("cart")?);
/// for second in [10, 20] {
///     patterns.add(&LogLine {
///         time: format!("2026-01-01T10:00:{second}Z").parse()?,
///         level: "ERROR".into(),
///         message: format!("request {second} failed"),
///         signal: None,
///         peer: None,
///         trace: None,
///     });
/// }
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let findings = patterns.findings(&Periods::new(window), "logs.csv");
/// assert_eq!(findings.len(), 1);
/// assert_eq!(findings[0].excerpt, "error, 2 times: request 10 failed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LogPatterns {
    entity: EntityId,
    /// Errors and warnings.
    severe: Book,
    /// All other lines.
    ordinary: Book,
}

/// Lines of one entity that say the same, of one level, signal and peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPattern {
    /// What they say, with [`HOLE`](crate::HOLE) for what varies.
    pub pattern: String,
    /// `error`, `warning`, `info`, `debug`, or `no level`.
    pub level: &'static str,
    /// What they speak of.
    pub signal: Signal,
    /// Another entity that they name.
    pub peer: Option<Peer>,
    /// The message of the earliest of them. Untrusted text.
    pub example: String,
    /// When they were written, in order.
    pub times: Vec<Timestamp>,
}

/// When lines were recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinesRecorded<'a> {
    /// From the first to the last line of anything, errors and warnings left out: some record nothing
    /// else, and of these it is not known when they would have.
    pub ordinary: Option<Window>,
    /// When nothing was recorded.
    pub holes: &'a [Window],
}

impl LogPatterns {
    /// No lines yet.
    pub fn new(entity: EntityId) -> Self {
        Self { entity, severe: Book::default(), ordinary: Book::default() }
    }

    /// Lines whose patterns were found before: messages are not compared again.
    pub fn of_mined(entity: EntityId, patterns: impl IntoIterator<Item = LogPattern>) -> Self {
        let (severe, ordinary): (Vec<LogPattern>, Vec<LogPattern>) =
            patterns.into_iter().partition(|one| Level::of(one.level).is_severe());
        Self { entity, severe: Book::of_mined(severe), ordinary: Book::of_mined(ordinary) }
    }

    /// Adds a line.
    pub fn add(&mut self, line: &LogLine) {
        self.add_counted(line);
    }

    /// The same. Says how many bytes more are held then, about.
    pub(crate) fn add_counted(&mut self, line: &LogLine) -> usize {
        let level = Level::of(&line.level);
        let book = if level.is_severe() { &mut self.severe } else { &mut self.ordinary };
        book.add(line, level)
    }

    /// Finds the patterns once, after the last line, so that they are not sought for each question.
    pub(crate) fn settle(&mut self) {
        self.severe.settle();
        self.ordinary.settle();
    }

    /// The entity that wrote them.
    pub fn entity(&self) -> &EntityId {
        &self.entity
    }

    /// What its lines say: errors and warnings first, each kind by level and text.
    pub fn patterns(&self) -> Vec<LogPattern> {
        [self.severe_patterns(), self.ordinary.patterns()].concat()
    }

    /// The entities that its errors and warnings name.
    pub(crate) fn severe_peers(&self) -> impl Iterator<Item = (&EntityId, PeerRole)> {
        self.severe.peers()
    }

    /// What its errors and warnings say.
    pub(crate) fn severe_patterns(&self) -> Vec<LogPattern> {
        self.severe.patterns()
    }

    /// How many lines were not kept because there were more than [`MAX_LOG_PATTERNS`] patterns.
    pub fn beyond(&self) -> usize {
        self.severe.beyond() + self.ordinary.beyond()
    }

    /// Findings on patterns whose rate differs from that of the baseline by more than chance
    /// ([`line_rates`](crate::line_rates)), and on errors and warnings that do not, strongest first.
    ///
    /// The trend is `rising` for patterns that are new or come more often, and for all errors and warnings
    /// where there is no baseline; `falling` for those that come less often or stay away; else `steady`.
    /// Errors of one trouble come in many words, most of them rarely: when all errors together rise by
    /// more than chance, those patterns rise that are new or at least half more frequent. Lines of other
    /// levels must also differ from what all such lines of the entity do; that all of them do is a finding
    /// by itself. One more is given for each line that is no longer followed by what usually follows it.
    ///
    /// The quantity counts lines: those seen, and those that the baseline rate would give. Without a
    /// signal of its own an error speaks of [`Signal::Errors`], any other line of [`Signal::Other`]. The
    /// onset is when the rate changed ([`rate_onset`](crate::rate_onset)).
    pub fn findings(&self, periods: &Periods, source: &str) -> Vec<Finding> {
        let recorded = LinesRecorded { ordinary: self.ordinary_extent(), holes: &[] };
        self.findings_within(recorded, periods, source, &mut Vec::new())
    }

    /// As [`LogPatterns::findings`], by when lines of anything were recorded. Adds what was left out.
    pub fn findings_within(
        &self,
        recorded: LinesRecorded<'_>,
        periods: &Periods,
        source: &str,
        omitted: &mut Vec<String>,
    ) -> Vec<Finding> {
        let writer = Writer { entity: &self.entity, recorded, periods, source };
        let (mut findings, more) = writer.severe(&self.severe.mined());
        let (others, more_others) = writer.ordinary(&self.ordinary.mined());
        findings.extend(others);
        for (count, what) in [(more, "of errors and warnings"), (more_others, "of other lines")] {
            if count > 0 {
                omitted.push(format!("{} {what}", counted(count, "log pattern")));
            }
        }
        findings
    }

    /// Findings on all patterns that a query wants, what is as usual included. Masked parts are searched in the example alone.
    pub fn search(
        &self,
        query: &EvidenceQuery,
        recorded: LinesRecorded<'_>,
        periods: &Periods,
        source: &str,
    ) -> Vec<Finding> {
        let writer = Writer { entity: &self.entity, recorded, periods, source };
        let matches = |text: &str| query.matches(text);
        let mut found = writer.matching(&self.severe.mined(), matches);
        found.extend(writer.matching(&self.ordinary.mined(), matches));
        found
    }

    /// The times of all lines.
    pub(crate) fn times(&self) -> impl Iterator<Item = Timestamp> {
        self.severe.times().chain(self.ordinary.times())
    }

    /// From the first line to the last, errors and warnings left out.
    pub(crate) fn ordinary_extent(&self) -> Option<Window> {
        let (first, last) = self.ordinary.times().fold(None, |ends, at| match ends {
            None => Some((at, at)),
            Some((first, last)) => Some((at.min(first), at.max(last))),
        })?;
        Window::new(first, last).ok()
    }
}

/// `once`, `2 times`.
pub(crate) fn times(count: usize) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

#[cfg(test)]
mod tests;
