//! Findings from log lines: errors and warnings, grouped by what they say.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::{FindingContent, Peer, Quantity, Signal, Trend};
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};

use crate::onsets::rate_onset;
use crate::patterns::patterns_of;
use crate::recorded::recorded_seconds;
use crate::series::Periods;
use crate::shift::during;
use crate::template::{HOLE, MAX_TEMPLATE, masked};
use crate::text::shorten;

/// At most this many patterns are kept for one entity; further ones are only counted.
pub const MAX_LOG_PATTERNS: usize = 200;

/// Longest quoted message, in characters.
const MAX_MESSAGE: usize = 200;

/// What stands for a masked part in the query of a finding. Ids of findings rest on it, and so do
/// ledgers that were written: it cannot become [`HOLE`].
const HOLE_IN_QUERY: &str = "#";

/// A pattern that was there before rises when its rate is more than this many times as high.
const RATE_FACTOR: f64 = 2.0;

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
}

/// The errors and warnings of one entity, grouped by level, signal, peer and masked message.
///
/// Messages are grouped as a [`Miner`](crate::Miner) groups them, with `#` for what varies. Lines of other
/// levels are passed over.
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
    /// By their masked messages, of which some are already patterns.
    patterns: BTreeMap<Key, Pattern>,
    /// Whether the patterns found so far fill the places.
    full: bool,
    beyond: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    level: Level,
    signal: Signal,
    peer: Option<(EntityId, eog_core::evidence::PeerRole)>,
    pattern: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// The earliest line's message stands for all.
    sample: (Timestamp, String),
    times: Vec<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Error,
    Warning,
}

impl LogPatterns {
    /// No lines yet.
    pub fn new(entity: EntityId) -> Self {
        Self { entity, patterns: BTreeMap::new(), full: false, beyond: 0 }
    }

    /// Adds a line, if it is an error or a warning.
    pub fn add(&mut self, line: &LogLine) {
        let Some(level) = Level::of(&line.level) else { return };
        let key = Key {
            level,
            signal: line.signal.unwrap_or(level.signal()),
            peer: line.peer.clone().map(|peer| (peer.entity, peer.role)),
            pattern: masked(&line.message),
        };
        if self.patterns.len() >= MAX_LOG_PATTERNS && !self.full {
            self.merge();
        }
        if self.patterns.len() >= MAX_LOG_PATTERNS && !self.patterns.contains_key(&key) {
            self.beyond += 1;
            return;
        }
        let sample = (line.time, shorten(&line.message, MAX_MESSAGE));
        let pattern = self
            .patterns
            .entry(key)
            .or_insert_with(|| Pattern { sample: sample.clone(), times: Vec::new() });
        pattern.times.push(line.time);
        if sample < pattern.sample {
            pattern.sample = sample;
        }
    }

    /// Replaces masked messages by their patterns, to make room.
    fn merge(&mut self) {
        let mut merged: BTreeMap<Key, Pattern> = BTreeMap::new();
        let mined = self.mined();
        for (key, parts) in mined {
            let sample = parts.iter().map(|part| &part.sample).min().cloned();
            let times = parts.iter().flat_map(|part| &part.times).copied().collect();
            if let Some(sample) = sample {
                merged.insert(key, Pattern { sample, times });
            }
        }
        self.full = merged.len() > MAX_LOG_PATTERNS / 2;
        self.patterns = merged;
    }

    /// The patterns among all messages, each with what was collected of it.
    fn mined(&self) -> BTreeMap<Key, Vec<&Pattern>> {
        let messages: BTreeSet<&str> =
            self.patterns.keys().map(|key| key.pattern.as_str()).collect();
        let patterns = patterns_of(&messages);
        let mut mined: BTreeMap<Key, Vec<&Pattern>> = BTreeMap::new();
        for (key, pattern) in &self.patterns {
            let text = patterns.get(key.pattern.as_str()).unwrap_or(&key.pattern);
            let key = Key { pattern: text.clone(), ..key.clone() };
            mined.entry(key).or_default().push(pattern);
        }
        mined
    }

    /// How many lines were not kept because there were more than [`MAX_LOG_PATTERNS`] patterns.
    pub fn beyond(&self) -> usize {
        self.beyond
    }

    /// One finding for each pattern seen in the window outside the baseline, in a fixed order.
    ///
    /// The trend is `rising` when the rate of lines is more than twice that of the baseline, or
    /// there is no baseline; else `steady`. The quantity counts lines: those seen, and those that
    /// the baseline rate would give. Without a signal of its own an error speaks of
    /// [`Signal::Errors`], a warning of [`Signal::Other`]. The onset of one that rises is when its
    /// rate changed ([`rate_onset`]).
    pub fn findings(&self, periods: &Periods, source: &str) -> Vec<Finding> {
        self.findings_without(&[], periods, source)
    }

    /// As [`LogPatterns::findings`], for a recording with holes: rates count over the rest.
    pub(crate) fn findings_without(
        &self,
        holes: &[Window],
        periods: &Periods,
        source: &str,
    ) -> Vec<Finding> {
        let mined = self.mined();
        let one =
            |(key, parts): (&Key, &Vec<&Pattern>)| self.finding(key, parts, holes, periods, source);
        mined.iter().filter_map(one).collect()
    }

    /// The times of all lines.
    pub(crate) fn times(&self) -> impl Iterator<Item = Timestamp> {
        self.patterns.values().flat_map(|pattern| pattern.times.iter().copied())
    }

    fn finding(
        &self,
        key: &Key,
        parts: &[&Pattern],
        holes: &[Window],
        periods: &Periods,
        source: &str,
    ) -> Option<Finding> {
        let baseline = periods.counting_baseline();
        let normal = |at: Timestamp| baseline.contains(at);
        let times_of_all = || parts.iter().flat_map(|part| &part.times);
        let seen: Vec<Timestamp> = times_of_all()
            .copied()
            .filter(|at| periods.window.contains(*at) && !normal(*at))
            .collect();
        let (first, last) = (seen.iter().min()?, seen.iter().max()?);
        let expected = (!baseline.is_empty()).then(|| {
            let before = times_of_all().filter(|at| normal(**at)).count();
            let looked_at = periods.looked_at(&baseline);
            let looked_at = looked_at.map_or(0.0, |window| recorded_seconds(window, holes));
            let of_all = baseline.iter().map(|one| recorded_seconds(one, holes)).sum::<f64>();
            before as f64 * looked_at / of_all
        });
        let rising = expected.is_none_or(|expected| seen.len() as f64 > RATE_FACTOR * expected);
        let onset = || {
            let end = periods.window.end();
            let mut times: Vec<Timestamp> =
                times_of_all().copied().filter(|at| *at < end).collect();
            times.sort_unstable();
            let recorded = periods.observed.unwrap_or(periods.window);
            rate_onset(&times, Window::new(recorded.start(), end).ok()?, Trend::Rising)
        };
        let onset = if rising { onset() } else { None };
        let level = key.level.name();
        let (_, sample) = parts.iter().map(|part| &part.sample).min()?;
        let pattern = shorten(&key.pattern, MAX_TEMPLATE).replace(HOLE, HOLE_IN_QUERY);
        Some(Finding::new(FindingContent {
            entity: self.entity.clone(),
            kind: EvidenceKind::Log,
            signal: key.signal,
            trend: if rising { Trend::Rising } else { Trend::Steady },
            time: during(*first, *last),
            quantity: Some(Quantity {
                observed: seen.len() as f64,
                baseline: expected,
                unit: "lines".into(),
            }),
            change: None,
            peer: key.peer.clone().map(|(entity, role)| Peer { entity, role }),
            source: source.to_owned(),
            query: format!("entity={} level={level} message={pattern:?}", self.entity),
            excerpt: format!("{level}, {}: {}", times(seen.len()), sample),
            onset,
        }))
    }
}

/// `once`, `2 times`.
pub(crate) fn times(count: usize) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

impl Level {
    fn of(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        match text.as_str() {
            "error" | "err" | "fatal" | "critical" | "crit" | "panic" | "severe" | "alert"
            | "emerg" | "emergency" => Some(Self::Error),
            "warning" | "warn" => Some(Self::Warning),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }

    fn signal(self) -> Signal {
        match self {
            Self::Error => Signal::Errors,
            Self::Warning => Signal::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eog_core::Window;

    #[test]
    fn messages_that_differ_in_values_are_one_pattern() {
        let mut patterns = LogPatterns::new(EntityId::new("cart").unwrap());
        for message in ["request 4711 of \"ann\" took 12.5ms", "request 7 of \"lee\" took 3ms"] {
            let (level, message) = ("error".to_owned(), message.to_owned());
            patterns.add(&LogLine { time: at(61), level, message, signal: None, peer: None });
        }
        let window = Window::new(at(60), at(120)).unwrap();
        let findings = patterns.findings(&Periods::new(window), "logs.csv");
        let queries: Vec<&str> = findings.iter().map(|finding| finding.query.as_str()).collect();
        assert_eq!(queries, ["entity=cart level=error message=\"request # of # took #\""]);
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    fn trends(minutes: &[i64], baseline: bool) -> Vec<(Trend, f64)> {
        let mut patterns = LogPatterns::new(EntityId::new("cart").unwrap());
        for minute in minutes {
            let message = format!("failed at {minute}");
            let level = "error".to_owned();
            patterns.add(&LogLine { time: at(*minute), level, message, signal: None, peer: None });
        }
        let window = Window::new(at(60), at(120)).unwrap();
        let observed = baseline.then(|| Window::new(at(0), at(120)).unwrap());
        let periods = Periods { observed, ..Periods::new(window) };
        let findings = patterns.findings(&periods, "logs.csv");
        findings.iter().map(|f| (f.trend, f.quantity.as_ref().unwrap().observed)).collect()
    }

    #[test]
    fn a_pattern_rises_when_its_rate_more_than_doubles() {
        let cases = [
            (&[61, 70][..], true, vec![(Trend::Rising, 2.0)]),
            (&[5, 61, 70], true, vec![(Trend::Steady, 2.0)]),
            (&[5, 61, 70, 80], true, vec![(Trend::Rising, 3.0)]),
            (&[5, 61, 70], false, vec![(Trend::Rising, 2.0)]),
            (&[5, 120], true, vec![]),
        ];
        for (minutes, baseline, expected) in cases {
            assert_eq!(trends(minutes, baseline), expected, "{minutes:?}");
        }
    }

    #[test]
    fn patterns_are_bounded() {
        let mut patterns = LogPatterns::new(EntityId::new("cart").unwrap());
        for index in 0..MAX_LOG_PATTERNS + 3 {
            let letters: String = format!("{index:03}")
                .bytes()
                .map(|digit| char::from(digit - b'0' + b'g'))
                .collect();
            let level = "warn".to_owned();
            let line = LogLine { time: at(1), level, message: letters, signal: None, peer: None };
            patterns.add(&line);
        }
        assert_eq!(patterns.beyond(), 3);
    }
}
