//! The findings on the log lines of one entity.

use eog_core::evidence::{EvidenceTime, FindingContent, Peer, Quantity, Signal, Trend};
use eog_core::incident::{Onset, to_the_second};
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};

use super::book::{Key, Pattern};
use super::{LinesRecorded, times};
use crate::intervals::Intervals;
use crate::line_orders::{Reordered, reordered};
use crate::line_rates::{ComparedTimes, LineRate, RateChange, have_common_volume, line_rates};
use crate::onsets::rate_onset;
use crate::series::Periods;
use crate::shift::during;
use crate::template::{HOLE, MAX_TEMPLATE};
use crate::text::{rounded, shorten};

/// Most findings of one entity from errors and warnings that rise or fall.
const MAX_SEVERE: usize = 20;

/// Most findings of one entity from errors and warnings that are as usual.
const MAX_STEADY: usize = 5;

/// Most findings of one entity from other lines.
const MAX_ORDINARY: usize = 6;

/// Most findings of one entity from lines in another order.
const MAX_REORDERED: usize = 3;

/// What stands for a masked part in the query of a finding. Ids of findings rest on it, and so do
/// ledgers that were written: it cannot become [`HOLE`].
const HOLE_IN_QUERY: &str = "#";

/// Writes the findings of one entity.
pub(super) struct Writer<'a> {
    pub(super) entity: &'a EntityId,
    pub(super) recorded: LinesRecorded<'a>,
    pub(super) periods: &'a Periods,
    pub(super) source: &'a str,
}

/// A pattern, and what is found of it.
struct Judged<'a> {
    key: &'a Key,
    pattern: &'a Pattern,
    rate: LineRate,
}

/// The parts of one finding.
struct Parts<'a> {
    signal: Signal,
    trend: Trend,
    peer: Option<Peer>,
    times: &'a [Timestamp],
    quantity: (f64, Option<f64>),
    onset: Option<Onset>,
    query: String,
    excerpt: String,
}

impl Writer<'_> {
    /// Findings on errors and warnings, strongest first, and how many more there are.
    pub(super) fn severe(&self, patterns: &[(Key, Pattern)]) -> (Vec<Finding>, usize) {
        let Some(compared) = self.recorded.compared(self.periods, false) else {
            if !self.periods.counting_baseline().is_empty() {
                // All of the window is usual.
                return (Vec::new(), 0);
            }
            let mut found: Vec<Finding> = patterns
                .iter()
                .filter_map(|(key, pattern)| self.uncompared(key, pattern))
                .collect();
            let more = found.len().saturating_sub(MAX_SEVERE);
            found.truncate(MAX_SEVERE);
            return (found, more);
        };
        let judged = judge(patterns, &compared, false);
        let is_error = |one: &&Judged<'_>| one.key.signal == Signal::Errors;
        let together = all_times(judged.iter().filter(is_error));
        let rates = line_rates(&[&together], &compared, false);
        let risen = rates.first().is_some_and(|rate| rate.change.map(trend) == Some(Trend::Rising));
        let onset = if risen { self.onset(&together, Trend::Rising) } else { None };
        let (mut changed, mut steady) = (Vec::new(), Vec::new());
        for one in &judged {
            let rises_with_all = risen && is_error(&one) && one.rate.is_more();
            match one.rate.change {
                Some(change) => changed.extend(self.changed(one, change, &compared)),
                None if rises_with_all => {
                    changed.extend(self.pattern(one, (Trend::Rising, onset), &compared));
                }
                None => steady.extend(self.pattern(one, (Trend::Steady, None), &compared)),
            }
        }
        let more = |found: &[Finding], most: usize| found.len().saturating_sub(most);
        let left_out = more(&changed, MAX_SEVERE) + more(&steady, MAX_STEADY);
        changed.truncate(MAX_SEVERE);
        steady.truncate(MAX_STEADY);
        changed.extend(steady);
        (changed, left_out)
    }

    /// Findings on other lines, strongest first, and how many more there are.
    pub(super) fn ordinary(&self, patterns: &[(Key, Pattern)]) -> (Vec<Finding>, usize) {
        let Some(compared) = self.recorded.compared(self.periods, true) else {
            return (Vec::new(), 0);
        };
        let mut judged = judge(patterns, &compared, true);
        let mut findings: Vec<Finding> = self.all_lines(&judged, &compared).into_iter().collect();
        let orders = self.orders(patterns, &judged, &compared);
        judged.retain(|one| one.rate.change.is_some());
        let more =
            judged.len().saturating_sub(MAX_ORDINARY) + orders.len().saturating_sub(MAX_REORDERED);
        let strongest = judged.iter().take(MAX_ORDINARY);
        findings.extend(strongest.filter_map(|one| self.changed(one, one.rate.change?, &compared)));
        findings.extend(orders.into_iter().take(MAX_REORDERED));
        (findings, more)
    }

    /// Findings on every pattern that holds what is searched for, changed or as usual, strongest first.
    pub(super) fn matching(
        &self,
        patterns: &[(Key, Pattern)],
        is_wanted: impl Fn(&str) -> bool,
    ) -> Vec<Finding> {
        let is_wanted =
            |key: &Key, pattern: &Pattern| is_wanted(&pattern.sample.1) || is_wanted(&key.pattern);
        let Some(compared) = self.recorded.compared(self.periods, false) else {
            let wanted = patterns.iter().filter(|(key, pattern)| is_wanted(key, pattern));
            return wanted.filter_map(|(key, pattern)| self.uncompared(key, pattern)).collect();
        };
        let judged = judge(patterns, &compared, false);
        let wanted = judged.iter().filter(|one| is_wanted(one.key, one.pattern));
        let found = wanted.filter_map(|one| match one.rate.change {
            Some(change) => self.changed(one, change, &compared),
            None => self.pattern(one, (Trend::Steady, None), &compared),
        });
        found.collect()
    }

    /// That all lines but errors and warnings come more or less often, where what is common to them is known:
    /// else their patterns say so one by one.
    fn all_lines(&self, judged: &[Judged<'_>], compared: &ComparedTimes<'_>) -> Option<Finding> {
        let kinds: Vec<&[Timestamp]> = judged.iter().map(|one| &*one.pattern.times).collect();
        if !have_common_volume(&kinds, compared) {
            return None;
        }
        let times = all_times(judged.iter());
        let rate = *line_rates(&[&times], compared, false).first()?;
        let trend = trend(rate.change?);
        let parts = Parts {
            signal: Signal::Other,
            trend,
            peer: None,
            times: &times,
            quantity: (rate.observed as f64, Some(rate.expected)),
            onset: self.onset(&times, trend),
            query: format!("entity={} level=other", self.entity),
            excerpt: format!("all lines except errors and warnings, {}", in_words(&rate)),
        };
        self.finding(parts, compared)
    }

    /// A pattern that changed.
    fn changed(
        &self,
        judged: &Judged<'_>,
        change: RateChange,
        compared: &ComparedTimes<'_>,
    ) -> Option<Finding> {
        let trend = trend(change);
        self.pattern(judged, (trend, self.onset(&judged.pattern.times, trend)), compared)
    }

    fn pattern(
        &self,
        Judged { key, pattern, rate }: &Judged<'_>,
        (trend, onset): (Trend, Option<Onset>),
        compared: &ComparedTimes<'_>,
    ) -> Option<Finding> {
        let sample = &pattern.sample.1;
        let parts = Parts {
            signal: key.signal,
            trend,
            peer: key.peer(),
            times: &pattern.times,
            quantity: (rate.observed as f64, Some(rate.expected)),
            onset,
            query: key.query(self.entity),
            excerpt: format!("{}, {}: {sample}", key.level.name(), in_words(rate)),
        };
        self.finding(parts, compared)
    }

    /// Lines without a baseline: of errors and warnings, what is there rises.
    fn uncompared(&self, key: &Key, pattern: &Pattern) -> Option<Finding> {
        let trend = if key.level.is_severe() { Trend::Rising } else { Trend::Steady };
        let window = self.periods.window;
        let seen = pattern.times.iter().filter(|at| window.contains(**at)).count();
        let parts = Parts {
            signal: key.signal,
            trend,
            peer: key.peer(),
            times: &pattern.times,
            quantity: (seen as f64, None),
            onset: if trend == Trend::Rising { self.onset(&pattern.times, trend) } else { None },
            query: key.query(self.entity),
            excerpt: format!("{}, {}: {}", key.level.name(), times(seen), pattern.sample.1),
        };
        let (before, until) = (window.into(), window.end());
        let compared = ComparedTimes { before, after: window, until, holes: &[] };
        self.finding(parts, &compared)
    }

    /// Lines that are no longer followed by what usually follows them. A line that stays away by itself is reported
    /// already.
    fn orders(
        &self,
        patterns: &[(Key, Pattern)],
        judged: &[Judged<'_>],
        compared: &ComparedTimes<'_>,
    ) -> Vec<Finding> {
        let falls = |key: &Key| {
            let one = judged.iter().find(|one| one.key == key);
            one.and_then(|one| one.rate.change).map(trend) == Some(Trend::Falling)
        };
        let kinds: Vec<&[Timestamp]> =
            patterns.iter().map(|(_, pattern)| &*pattern.times).collect();
        let all: Vec<(&Key, &Pattern)> =
            patterns.iter().map(|(key, pattern)| (key, pattern)).collect();
        let found = reordered(&kinds, compared).into_iter().filter_map(|order| {
            let (line, next) = (all.get(order.line)?, all.get(order.usual_next)?);
            (!falls(next.0)).then(|| self.order(&order, *line, *next, compared))?
        });
        found.collect()
    }

    fn order(
        &self,
        order: &Reordered,
        (key, pattern): (&Key, &Pattern),
        (next_key, next): (&Key, &Pattern),
        compared: &ComparedTimes<'_>,
    ) -> Option<Finding> {
        let ((now, all), (before, all_before)) = (order.now, order.before);
        let expected = all as f64 * before as f64 / all_before as f64;
        let swapped = match order.swapped {
            0 => String::new(),
            count => format!("; {} it comes before", times(count)),
        };
        let parts = Parts {
            signal: Signal::Other,
            trend: Trend::Falling,
            peer: None,
            times: &pattern.times,
            quantity: (now as f64, Some(expected)),
            onset: order.onset,
            query: format!("{} next={}", key.query(self.entity), quoted(&next_key.pattern)),
            excerpt: format!(
                "{}, followed as normal {now} of {all} times (expected {}{swapped}): {}; then: {}",
                key.level.name(),
                rounded(expected),
                pattern.sample.1,
                next.sample.1,
            ),
        };
        self.finding(parts, compared)
    }

    /// When a rate changed.
    fn onset(&self, times: &[Timestamp], trend: Trend) -> Option<Onset> {
        let end = self.periods.window.end();
        // What stays away was recorded for as long as other lines came.
        let end = match (trend, self.recorded.ordinary) {
            (Trend::Falling, Some(lines)) => end.min(lines.end()),
            _ => end,
        };
        let recorded = self.periods.observed.unwrap_or(self.periods.window);
        let place = |at: Timestamp| times.partition_point(|time| *time < at);
        // What was said in other runs dates nothing.
        let before_end = times.get(place(recorded.start()).min(place(end))..place(end))?;
        rate_onset(before_end, Window::new(recorded.start(), end).ok()?, trend)
    }

    fn finding(&self, parts: Parts<'_>, compared: &ComparedTimes<'_>) -> Option<Finding> {
        let time = match parts.trend {
            Trend::Falling => time_without(parts.onset, compared)?,
            Trend::Rising | Trend::Steady => {
                let seen = |at: &&Timestamp| compared.after.contains(**at);
                let first = parts.times.iter().find(seen)?;
                during(*first, *parts.times.iter().rev().find(seen)?)
            }
        };
        let (observed, baseline) = parts.quantity;
        Some(Finding::new(FindingContent {
            entity: self.entity.clone(),
            kind: EvidenceKind::Log,
            signal: parts.signal,
            trend: parts.trend,
            time,
            quantity: Some(Quantity { observed, baseline, unit: "lines".into() }),
            change: None,
            peer: parts.peer,
            source: self.source.to_owned(),
            query: parts.query,
            excerpt: parts.excerpt,
            onset: parts.onset,
        }))
    }
}

impl<'a> LinesRecorded<'a> {
    /// What is compared; nothing without a baseline.
    pub fn compared(&self, periods: &Periods, ordinary: bool) -> Option<ComparedTimes<'a>> {
        let baseline = periods.counting_baseline();
        let after = periods.after_usual(&baseline)?;
        let lines = self.ordinary;
        let start = lines.filter(|_| ordinary).map(|lines| lines.start());
        let later = |one: Window| {
            Window::new(start.map_or(one.start(), |start| start.max(one.start())), one.end()).ok()
        };
        let before: Intervals = baseline.iter().filter_map(later).collect();
        if before.is_empty() {
            return None;
        }
        // What stays away is missed only while other lines come.
        let until = lines.map_or(after.start(), |lines| lines.end().min(after.end()));
        Some(ComparedTimes { before, after, until, holes: self.holes })
    }
}

impl Key {
    fn peer(&self) -> Option<Peer> {
        self.peer.clone().map(|(entity, role)| Peer { entity, role })
    }

    fn query(&self, entity: &EntityId) -> String {
        format!("entity={entity} level={} message={}", self.level.name(), quoted(&self.pattern))
    }
}

fn quoted(pattern: &str) -> String {
    format!("{:?}", shorten(pattern, MAX_TEMPLATE).replace(HOLE, HOLE_IN_QUERY))
}

/// All patterns with what is found of them, strongest first.
fn judge<'a>(
    patterns: &'a [(Key, Pattern)],
    compared: &ComparedTimes<'_>,
    of_all: bool,
) -> Vec<Judged<'a>> {
    let kinds: Vec<&[Timestamp]> = patterns.iter().map(|(_, pattern)| &*pattern.times).collect();
    let rates = line_rates(&kinds, compared, of_all);
    let mut judged: Vec<Judged<'a>> = patterns
        .iter()
        .zip(rates)
        .map(|((key, pattern), rate)| Judged { key, pattern, rate })
        .collect();
    judged.sort_by(|a, b| {
        b.rate.surplus().total_cmp(&a.rate.surplus()).then_with(|| a.key.cmp(b.key))
    });
    judged
}

fn all_times<'a>(judged: impl Iterator<Item = &'a Judged<'a>>) -> Vec<Timestamp> {
    let mut times: Vec<Timestamp> =
        judged.flat_map(|one| one.pattern.times.iter().copied()).collect();
    // Runs that are in order, which this sort makes use of.
    times.sort();
    times
}

fn trend(change: RateChange) -> Trend {
    if change.is_more() { Trend::Rising } else { Trend::Falling }
}

/// From when something had become less to the end of the time of interest.
fn time_without(onset: Option<Onset>, compared: &ComparedTimes<'_>) -> Option<EvidenceTime> {
    let start = compared.after.start();
    let from = onset.map_or(start, |onset| onset.latest().max(start));
    let end = compared.until;
    Window::new(from, end)
        .or_else(|_| Window::new(start, compared.after.end()))
        .ok()
        .map(EvidenceTime::During)
}

/// `3 times where 41.2 are usual`, `0 times since 2026-01-01T10:00:00Z where 41.2 are usual`.
fn in_words(rate: &LineRate) -> String {
    let since = match rate.change {
        Some(RateChange::Vanished(last)) => format!(" since {}", to_the_second(last)),
        _ => String::new(),
    };
    let counted = times(rate.observed);
    match rate.expected {
        0.0 => format!("{counted}, never before"),
        expected => format!("{counted}{since} (normally {})", rounded(expected)),
    }
}
