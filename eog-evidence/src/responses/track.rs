//! What was recorded of one variable, cut into normal times and the time before the alarm.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::{EvidenceKind, Timestamp, Window};

use crate::attribution::Measured;
use crate::events::EventRecord;
use crate::series::{Periods, Series};
use crate::text::shorten;

/// A variable with as few different values is coded, whatever they are …
const FEW: usize = 8;

/// … and one with as many is when its values are whole and come again this often in the mean. Others are
/// measurements, counters or texts: that one value comes tells nothing.
const MAX_CODES: usize = 64;
const COME_AGAIN: usize = 4;

/// A first record this near to the beginning of a recording is what was found, not what happened:
/// recorders store the values of all variables when they start.
const FOUND: f64 = 1.0;

/// What a variable came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) at: f64,
    pub(crate) value: f64,
}

/// One stretch of recording without a break. Times are seconds since its beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    /// What it was found at, where that is known.
    pub(super) found: Option<f64>,
    pub(super) changes: Vec<Change>,
    pub(super) length: f64,
}

impl Stretch {
    /// The state just before an instant.
    pub(super) fn before(&self, at: f64) -> Option<f64> {
        let place = self.changes.partition_point(|change| change.at < at);
        match place.checked_sub(1) {
            Some(last) => self.changes.get(last).map(|change| change.value),
            None => self.found,
        }
    }

    /// The last change at or before an instant.
    pub(super) fn last(&self, at: f64) -> Option<Change> {
        let place = self.changes.partition_point(|change| change.at <= at);
        self.changes.get(place.checked_sub(1)?).copied()
    }

    /// The first change after an instant.
    pub(super) fn next(&self, at: f64) -> Option<Change> {
        let place = self.changes.partition_point(|change| change.at <= at);
        self.changes.get(place).copied()
    }
}

/// What was recorded of one variable.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub(super) name: String,
    pub(super) kind: EvidenceKind,
    pub(super) query: String,
    /// Words for coded values, where they have any.
    words: Vec<String>,
    /// Normal times.
    pub(super) usual: Vec<Stretch>,
    /// From the beginning of the window, or the end of the normal time in it, to the limit.
    pub(super) now: Stretch,
    /// From the limit to the end of the window.
    pub(super) after: Stretch,
    begin: Timestamp,
    is_coded: bool,
    /// Whether it is a number with many values.
    is_measured: bool,
    /// Whether values are numbers that can be compared: no events.
    is_number: bool,
}

/// The stretches of time that tracks are cut into.
pub(super) struct Cut {
    usual: Vec<Window>,
    begin: Timestamp,
    limit: Timestamp,
    end: Timestamp,
    /// The window goes on where a normal time ends.
    is_continued: bool,
}

impl Cut {
    /// Normal times, and the window up to a limit; nothing when there is no normal time.
    pub(super) fn of(periods: &Periods, limit: Timestamp) -> Option<Self> {
        let usual = periods.usual_time();
        let begin = periods.looked_at(&usual)?.start();
        let is_continued = usual.iter().any(|one| one.end() == begin);
        let usual: Vec<Window> = usual.iter().collect();
        (!usual.is_empty() && begin < limit).then_some(Self {
            usual,
            begin,
            limit,
            end: periods.window.end().max(limit),
            is_continued,
        })
    }
}

impl Track {
    /// All variables of an entity.
    pub(super) fn all(measured: &Measured<'_>, cut: &Cut) -> Vec<Self> {
        let series = measured.series.iter().filter(|series| series.peer.is_none());
        let mut tracks: Vec<Self> = series.map(|series| Self::of_series(series, cut)).collect();
        tracks.extend(Self::of_events(measured.events, cut));
        tracks
    }

    fn of_series(series: &Series, cut: &Cut) -> Self {
        let name = shorten(&series.metric, 120);
        let query = format!("metric={name}");
        let is_number = true;
        Self::new(name, EvidenceKind::Metric, query, Vec::new(), is_number, &series.points, cut)
    }

    /// The events of an entity as one variable, whose values are their reasons.
    fn of_events(events: &[EventRecord], cut: &Cut) -> Option<Self> {
        let reasons: BTreeSet<&str> = events.iter().map(|event| event.reason.as_str()).collect();
        let codes: BTreeMap<&str, f64> =
            reasons.iter().enumerate().map(|(code, reason)| (*reason, code as f64)).collect();
        let code = |event: &EventRecord| codes.get(event.reason.as_str()).copied();
        let points: Vec<(Timestamp, f64)> =
            events.iter().filter_map(|event| Some((event.time, code(event)?))).collect();
        let words = reasons.iter().map(|reason| shorten(reason, 80)).collect();
        let (name, query) = ("its state".to_owned(), "events".to_owned());
        let track = Self::new(name, EvidenceKind::Event, query, words, false, &points, cut);
        (!points.is_empty()).then_some(track)
    }

    fn new(
        name: String,
        kind: EvidenceKind,
        query: String,
        words: Vec<String>,
        is_number: bool,
        points: &[(Timestamp, f64)],
        cut: &Cut,
    ) -> Self {
        let values: BTreeSet<u64> = points.iter().map(|(_, value)| code(*value)).collect();
        let usual: Vec<Stretch> =
            cut.usual.iter().map(|one| stretch(points, one.start(), one.end(), None)).collect();
        let carried = usual.last().filter(|_| cut.is_continued);
        let carried = carried.and_then(|last| last.before(f64::INFINITY));
        let now = stretch(points, cut.begin, cut.limit, carried);
        let is_whole = points.iter().all(|(_, value)| value.fract() == 0.0);
        let come_again = COME_AGAIN * values.len() <= points.len();
        let is_coded = values.len() <= FEW || is_whole && come_again && values.len() <= MAX_CODES;
        let is_measured = is_number && !is_coded;
        let after = stretch(points, cut.limit, cut.end, now.before(f64::INFINITY));
        let begin = cut.begin;
        Self {
            name,
            kind,
            query,
            words,
            usual,
            now,
            after,
            begin,
            is_coded,
            is_measured,
            is_number,
        }
    }

    /// Whether it takes one of few values.
    pub(super) fn is_coded(&self) -> bool {
        self.is_coded
    }

    /// Whether it measures something.
    pub(super) fn is_measured(&self) -> bool {
        self.is_measured
    }

    /// Whether its values can be compared.
    pub(super) fn is_number(&self) -> bool {
        self.is_number
    }

    /// What a change of it means to others: its value, or, of many values, that it moved.
    pub(super) fn token(&self, value: f64) -> u64 {
        if self.is_coded() { code(value) } else { 0 }
    }

    /// A value for people.
    pub(super) fn word(&self, value: f64) -> String {
        let word = self.words.get(value as usize).filter(|_| !self.is_number);
        word.cloned().unwrap_or_else(|| crate::text::rounded(value))
    }

    /// The instant of a second of the window.
    pub(super) fn instant(&self, second: f64) -> Timestamp {
        let nanos = (second * 1e9) as i64;
        let later = jiff::SignedDuration::from_nanos(nanos);
        self.begin.checked_add(later).unwrap_or(self.begin)
    }

    /// How long was recorded in normal times, in seconds.
    pub(super) fn usual_seconds(&self) -> f64 {
        self.usual.iter().map(|one| one.length).sum()
    }

    /// How often it changed in normal times.
    pub(super) fn usual_changes(&self) -> usize {
        self.usual.iter().map(|one| one.changes.len()).sum()
    }
}

/// Equal numbers have equal codes, both zeros included.
pub(super) fn code(value: f64) -> u64 {
    if value == 0.0 { 0.0_f64.to_bits() } else { value.to_bits() }
}

/// What happened between two instants, the later one included: it is that of the alarm.
fn stretch(
    points: &[(Timestamp, f64)],
    start: Timestamp,
    end: Timestamp,
    carried: Option<f64>,
) -> Stretch {
    let from = points.partition_point(|(at, _)| *at < start);
    let to = points.partition_point(|(at, _)| *at <= end);
    let length = end.duration_since(start).as_secs_f64();
    let mut stretch = Stretch { found: carried, changes: Vec::new(), length };
    let mut last = carried;
    for (at, value) in points.get(from..to).unwrap_or_default() {
        if !value.is_finite() || last.is_some_and(|last| code(last) == code(*value)) {
            continue;
        }
        let second = at.duration_since(start).as_secs_f64();
        if last.is_none() && second <= FOUND.min(0.01 * length) {
            stretch.found = Some(*value);
        } else {
            stretch.changes.push(Change { at: second, value: *value });
        }
        last = Some(*value);
    }
    stretch
}
