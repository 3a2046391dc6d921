//! Findings from logs: patterns that are new, come more or less often, or stay away.

use std::collections::{BTreeMap, HashMap};

use eog_core::evidence::{EvidenceTime, Quantity, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};
use eog_evidence::{
    ComparedTimes, Depths, LineRate, RateChange, Reordered, RequestError, have_common_volume,
    holes, joined_errors, line_rates, rate_onset, recorded_seconds, reordered, shorten,
};
use jiff::SignedDuration;

use super::{Compare, Draft, rounded, selector, since};
use crate::graph::NameIndex;
use crate::names;
use crate::read::Resource;
use crate::store::{LogRef, Logs, SpanRef, Spans, number, says_error};

/// Most findings of one entity.
const MAX_FINDINGS: usize = 6;

/// Most findings of one entity on lines in another order.
const MAX_REORDERED: usize = 2;

/// Severity number from which a line tells of trouble.
const WARNING: u8 = 13;

/// Most steps from a span to the first of its trace.
const MAX_DEPTH: usize = 64;

/// Longest quoted message where there are two, in characters.
const MAX_MESSAGE: usize = 150;

/// The lines of a snapshot by entity: by service, else by pod.
#[derive(Debug, Default)]
pub(crate) struct LogIndex {
    by_entity: BTreeMap<EntityId, Lines>,
    /// When no line was recorded of anything.
    holes: Vec<Window>,
}

/// The lines of one entity in time order.
#[derive(Debug, Default)]
struct Lines {
    rows: Vec<u32>,
    /// Each line's pattern, by its place in `patterns`.
    pattern: Vec<u32>,
    /// The patterns of this entity, by their numbers in the snapshot.
    patterns: Vec<u32>,
    /// Look-ups alone.
    known: HashMap<u32, u32>,
}

impl LogIndex {
    /// Says who is who by the names of a graph.
    pub(crate) fn new(logs: &Logs, names: &NameIndex) -> Self {
        let mut index = Self { holes: holes(logs.iter().map(LogRef::at)), ..Self::default() };
        let entities: Vec<Option<EntityId>> =
            logs.senders.iter().map(|sender| entity_of(sender, names)).collect();
        for log in logs.iter() {
            let entity = entities.get(log.sender_number() as usize).and_then(Option::as_ref);
            let Some(entity) = entity else { continue };
            match index.by_entity.get_mut(entity) {
                Some(lines) => lines.push(log),
                None => index.by_entity.entry(entity.clone()).or_default().push(log),
            }
        }
        index
    }

    /// Whether there are no lines of anybody.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_entity.is_empty()
    }

    /// How many lines there are of an entity.
    pub(crate) fn count(&self, entity: &EntityId) -> usize {
        self.by_entity.get(entity).map_or(0, |lines| lines.rows.len())
    }

    /// Patterns of an entity whose rate in the second period differs by more than chance, worst first.
    pub(crate) fn findings(
        &self,
        logs: &Logs,
        entity: &EntityId,
        compare: &Compare,
    ) -> Vec<Finding> {
        let Some(lines) = self.by_entity.get(entity) else { return Vec::new() };
        let Some(compared) = self.compared(logs, compare) else { return Vec::new() };
        let writer = Writer { entity, compared: &compared, extent: logs.at.extent() };
        let patterns = lines.patterns(logs, compare);
        let (severe, ordinary): (Vec<Pattern<'_>>, Vec<Pattern<'_>>) =
            patterns.into_iter().partition(Pattern::is_severe);
        let mut found = writer.severe(&severe);
        found.extend(writer.ordinary(&ordinary));
        found.truncate(MAX_FINDINGS);
        found.extend(writer.orders(&ordinary));
        found
    }

    /// Where the errors of requests begin and where they are passed on, by the error lines that name a trace or a request.
    pub(crate) fn joined(
        &self,
        logs: &Logs,
        (spans, senders): (&Spans, &[Option<EntityId>]),
        compare: &Compare,
    ) -> BTreeMap<EntityId, Vec<Finding>> {
        let Some(compared) = self.compared(logs, compare) else { return BTreeMap::new() };
        let end = compare.after.end();
        let lines = || {
            let of_entity = |(entity, lines): (&'_ EntityId, &'_ Lines)| {
                let rows = lines.rows.iter().map(|row| logs.get(*row));
                let rows = rows.take_while(|log| log.at() < end);
                let entity = entity.clone();
                rows.filter_map(move |log| Some((entity.clone(), log, log.request()?)))
                    .collect::<Vec<_>>()
            };
            self.by_entity.iter().flat_map(of_entity).collect::<Vec<_>>()
        };
        let lines = lines();
        let Some((_, first, _)) = lines.first() else { return BTreeMap::new() };
        let failed = spans.iter().filter(|span| span.failed());
        let placed = failed.filter_map(|span| {
            let entity = senders.get(span.sender_number() as usize)?.as_ref()?;
            Some((span.trace(), entity, depth(span)))
        });
        let depths = Depths::of_failed(placed, lines.iter().map(|(_, _, request)| *request));
        let errors = lines.iter().map(|(entity, log, request)| RequestError {
            request,
            time: log.at(),
            entity,
            message: log.text(),
            callee: None,
        });
        joined_errors(errors, &depths, Some(&compared), first.file())
    }

    /// What is compared: within the time from which there are lines at all.
    fn compared(&self, logs: &Logs, compare: &Compare) -> Option<ComparedTimes<'_>> {
        let (first, last) = logs.at.extent()?;
        let start = compare.before.start().max(first);
        // Where there is none before, everything is new.
        let before = Window::new(start, compare.before.end()).unwrap_or(compare.before).into();
        let until = last.min(compare.after.end());
        Some(ComparedTimes { before, after: compare.after, until, holes: &self.holes })
    }
}

/// How many recorded spans lie around a span, itself included.
fn depth(span: SpanRef<'_>) -> usize {
    std::iter::successors(Some(span), |span| span.parent()).take(MAX_DEPTH).count()
}

fn entity_of(sender: &Resource, names: &NameIndex) -> Option<EntityId> {
    if sender.service.is_empty() {
        return names::entity(&sender.namespace, "Pod", &sender.pod);
    }
    match sender.namespace.as_str() {
        "" => names.service(&names.namespace_of(&sender.service), &sender.service),
        given => names.service(given, &sender.service),
    }
}

impl Lines {
    fn push(&mut self, log: LogRef<'_>) {
        let (number, new) = (log.pattern_number(), number(self.patterns.len()));
        let pattern = *self.known.entry(number).or_insert(new);
        if pattern == new {
            self.patterns.push(number);
        }
        self.pattern.push(pattern);
        self.rows.push(log.row());
    }

    /// The patterns of the lines up to the end of the second period, in order of their texts.
    fn patterns<'a>(&self, logs: &'a Logs, compare: &Compare) -> Vec<Pattern<'a>> {
        let mut patterns: Vec<Option<Pattern<'a>>> = Vec::new();
        patterns.resize_with(self.patterns.len(), || None);
        let end = compare.after.end();
        let rows = self.rows.iter().map(|row| logs.get(*row)).take_while(|log| log.at() < end);
        for (log, place) in rows.zip(&self.pattern) {
            let Some(slot) = patterns.get_mut(*place as usize) else { continue };
            slot.get_or_insert_with(|| Pattern::of(log)).add(log, compare);
        }
        let mut patterns: Vec<Pattern<'a>> = patterns.into_iter().flatten().collect();
        patterns.sort_by_key(|pattern| pattern.text);
        patterns
    }
}

/// The lines of one pattern.
struct Pattern<'a> {
    text: &'a str,
    times: Vec<Timestamp>,
    severity: u8,
    /// The first line in the second period, else the last one before it.
    example: LogRef<'a>,
}

impl<'a> Pattern<'a> {
    fn of(log: LogRef<'a>) -> Self {
        Self { text: log.pattern(), times: Vec::new(), severity: 0, example: log }
    }

    fn add(&mut self, log: LogRef<'a>, compare: &Compare) {
        self.severity = self.severity.max(log.severity());
        self.times.push(log.at());
        if self.example.at() < compare.after.start() {
            self.example = log;
        }
    }

    fn is_error(&self) -> bool {
        says_error(self.severity, self.example.text())
    }

    /// Whether it tells of trouble, and so counts by itself, whatever other lines do.
    fn is_severe(&self) -> bool {
        self.severity >= WARNING || self.is_error()
    }

    fn signal(&self) -> Signal {
        if self.is_error() { Signal::Errors } else { Signal::Other }
    }
}

/// Writes the findings of one entity.
struct Writer<'a> {
    entity: &'a EntityId,
    compared: &'a ComparedTimes<'a>,
    extent: Option<(Timestamp, Timestamp)>,
}

/// A pattern that changed, and when it began.
struct Changed<'a, 'p> {
    pattern: &'a Pattern<'p>,
    rate: LineRate,
    change: RateChange,
    onset: Option<Onset>,
}

impl Writer<'_> {
    /// Errors and warnings, errors first.
    fn severe(&self, patterns: &[Pattern<'_>]) -> Vec<Finding> {
        // Errors of one trouble come in many words, most of them rarely: a rare pattern alone is not
        // dated, and the first of many rare ones is likely before its time. So all of them together
        // say when errors began, if they do by more than chance.
        let mut together: Vec<Timestamp> = patterns
            .iter()
            .filter(|one| one.is_error())
            .flat_map(|one| &one.times)
            .copied()
            .collect();
        together.sort();
        let rate = line_rates(&[&together], self.compared, false);
        let risen = rate.first().is_some_and(|rate| rate.change.is_some_and(RateChange::is_more));
        let onset = if risen { self.onset(&together, Trend::Rising) } else { None };
        let mut changed = Vec::new();
        for (pattern, rate) in
            patterns.iter().zip(line_rates(&times(patterns), self.compared, false))
        {
            let more_like_all = (risen && pattern.is_error() && rate.is_more())
                .then_some(if rate.expected == 0.0 { RateChange::New } else { RateChange::Risen });
            let Some(change) = rate.change.or(more_like_all) else { continue };
            let onset = match change.is_more() && pattern.is_error() {
                true => onset,
                false => self.onset(&pattern.times, trend(change)),
            };
            changed.push(Changed { pattern, rate, change, onset });
        }
        self.strongest(changed)
    }

    /// Other lines, and that all of them come more or less often.
    fn ordinary(&self, patterns: &[Pattern<'_>]) -> Vec<Finding> {
        let times = times(patterns);
        let rates = line_rates(&times, self.compared, true);
        let changed = patterns.iter().zip(rates).filter_map(|(pattern, rate)| {
            let change = rate.change?;
            let onset = self.onset(&pattern.times, trend(change));
            Some(Changed { pattern, rate, change, onset })
        });
        let mut found: Vec<Finding> = Vec::new();
        if have_common_volume(&times, self.compared) {
            found.extend(self.all_lines(patterns, &times));
        }
        found.extend(self.strongest(changed.collect()));
        found
    }

    fn strongest(&self, mut changed: Vec<Changed<'_, '_>>) -> Vec<Finding> {
        changed.sort_by(|a, b| {
            let key = |one: &Changed<'_, '_>| (!one.pattern.is_error(), !one.change.is_more());
            let size = |one: &Changed<'_, '_>| one.rate.surplus();
            key(a)
                .cmp(&key(b))
                .then(size(b).total_cmp(&size(a)))
                .then(a.pattern.text.cmp(b.pattern.text))
        });
        changed.truncate(MAX_FINDINGS);
        changed.iter().filter_map(|one| self.changed(one)).collect()
    }

    fn changed(&self, one: &Changed<'_, '_>) -> Option<Finding> {
        let Changed { pattern, rate, change, onset } = one;
        let news = match change {
            RateChange::New => "new log pattern",
            RateChange::Risen => "surging log pattern",
            RateChange::Fallen => "rarer log pattern",
            RateChange::Vanished(_) => "vanished log pattern",
        };
        let counts = self.counts(rate, *change, (&pattern.times, *onset));
        let excerpt = format!("{news}, {counts}: {}", pattern.example.text());
        let query = self.query(pattern);
        self.finding(
            pattern,
            pattern.signal(),
            (&pattern.times, rate, *change, *onset),
            query,
            excerpt,
        )
    }

    fn all_lines(&self, patterns: &[Pattern<'_>], times: &[&[Timestamp]]) -> Option<Finding> {
        let mut all: Vec<Timestamp> = times.iter().copied().flatten().copied().collect();
        all.sort();
        let rate = *line_rates(&[&all], self.compared, false).first()?;
        let change = rate.change?;
        let onset = self.onset(&all, trend(change));
        let counts = self.counts(&rate, change, (&all, onset));
        let excerpt = format!("all log lines but errors and warnings, {counts}");
        let first = patterns.first()?;
        let query = format!("{} {}", first.example.file(), selector(self.entity));
        self.finding(first, Signal::Other, (&all, &rate, change, onset), query, excerpt)
    }

    /// Lines that are no longer followed by what usually follows them, unless that comes more rarely.
    fn orders(&self, patterns: &[Pattern<'_>]) -> Vec<Finding> {
        let times = times(patterns);
        let rates = line_rates(&times, self.compared, true);
        let falls = |place: usize| {
            let change = rates.get(place).and_then(|rate| rate.change);
            change.is_some_and(|change| !change.is_more())
        };
        let found = reordered(&times, self.compared).into_iter().filter_map(|order| {
            let (line, next) = (patterns.get(order.line)?, patterns.get(order.usual_next)?);
            (!falls(order.usual_next)).then(|| self.order(&order, line, next))?
        });
        found.take(MAX_REORDERED).collect()
    }

    fn order(&self, order: &Reordered, line: &Pattern<'_>, next: &Pattern<'_>) -> Option<Finding> {
        let ((now, all), (before, all_before)) = (order.now, order.before);
        let usual = all as f64 * before as f64 / all_before as f64;
        let excerpt = format!(
            "log pattern followed as normal {now} of {all} times, {} (expected {}; {} times it \
             comes before): {}; then: {}",
            since(order.onset),
            rounded(usual),
            order.swapped,
            shorten(line.example.text(), MAX_MESSAGE),
            shorten(next.example.text(), MAX_MESSAGE),
        );
        let draft = Draft {
            entity: self.entity,
            kind: EvidenceKind::Log,
            signal: Signal::Other,
            trend: Trend::Falling,
            time: self.time(&line.times, RateChange::Fallen, order.onset)?,
            quantity: Some(Quantity {
                observed: now as f64,
                baseline: Some(usual),
                unit: "lines".into(),
            }),
            peer: None,
            source: line.example.file(),
            query: format!("{} next={:?}", self.query(line), next.text),
            excerpt,
            onset: order.onset,
        };
        Some(draft.finding())
    }

    fn query(&self, pattern: &Pattern<'_>) -> String {
        format!("{} {} pattern={:?}", pattern.example.file(), selector(self.entity), pattern.text)
    }

    /// When lines began to come more often, or less.
    fn onset(&self, times: &[Timestamp], trend: Trend) -> Option<Onset> {
        let (first, _) = self.extent?;
        let end = match trend {
            Trend::Falling => self.compared.until,
            _ => self.compared.after.end(),
        };
        let before_end = times.get(..times.partition_point(|at| *at < end))?;
        rate_onset(before_end, Window::new(first, end).ok()?, trend)
    }

    /// Lines a minute in both periods.
    fn rates(&self, rate: &LineRate, change: RateChange) -> (f64, f64) {
        let &ComparedTimes { after, until, holes, .. } = self.compared;
        let window = match change {
            RateChange::New | RateChange::Risen => Ok(after),
            RateChange::Fallen => Window::new(after.start(), until),
            RateChange::Vanished(last) => Window::new(last.max(after.start()), until),
        };
        let seconds = window.map_or(1.0, |window| recorded_seconds(window, holes).max(1.0));
        (rate.observed as f64 * 60.0 / seconds, rate.expected * 60.0 / seconds)
    }

    fn counts(
        &self,
        rate: &LineRate,
        change: RateChange,
        (times, onset): (&[Timestamp], Option<Onset>),
    ) -> String {
        let (after, before) = self.rates(rate, change);
        let since = match (change, self.first_seen(times)) {
            (RateChange::Vanished(last), _) => format!("since {last}"),
            // It is there from its first line on; when errors became frequent is another matter.
            (RateChange::New, Some(first)) => match onset.filter(|onset| onset.latest() > first) {
                Some(_) => format!("first at {first}, frequent {}", since(onset)),
                None => format!("first at {first}"),
            },
            _ => since(onset),
        };
        format!(
            "{} lines (normally {}), {since} ({} a minute, {} before)",
            rate.observed,
            rounded(rate.expected),
            rounded(after),
            rounded(before),
        )
    }

    /// The first of some lines in the second period.
    fn first_seen(&self, times: &[Timestamp]) -> Option<Timestamp> {
        times.get(times.partition_point(|at| *at < self.compared.after.start())).copied()
    }

    fn time(
        &self,
        times: &[Timestamp],
        change: RateChange,
        onset: Option<Onset>,
    ) -> Option<EvidenceTime> {
        let after = self.compared.after;
        let (from, end) = match change.is_more() {
            true => {
                let first = self.first_seen(times)?;
                (first, after.end().max(first.checked_add(SignedDuration::from_secs(1)).ok()?))
            }
            false => {
                let from = onset.map_or(after.start(), |onset| onset.latest().max(after.start()));
                (from, self.compared.until)
            }
        };
        Some(EvidenceTime::During(Window::new(from, end).unwrap_or(after)))
    }

    fn finding(
        &self,
        pattern: &Pattern<'_>,
        signal: Signal,
        (times, rate, change, onset): (&[Timestamp], &LineRate, RateChange, Option<Onset>),
        query: String,
        excerpt: String,
    ) -> Option<Finding> {
        let (observed, before) = self.rates(rate, change);
        let draft = Draft {
            entity: self.entity,
            kind: EvidenceKind::Log,
            signal,
            trend: trend(change),
            time: self.time(times, change, onset)?,
            quantity: Some(Quantity { observed, baseline: Some(before), unit: "lines/min".into() }),
            peer: None,
            source: pattern.example.file(),
            query,
            excerpt,
            onset,
        };
        Some(draft.finding())
    }
}

fn times<'a>(patterns: &'a [Pattern<'_>]) -> Vec<&'a [Timestamp]> {
    patterns.iter().map(|pattern| pattern.times.as_slice()).collect()
}

fn trend(change: RateChange) -> Trend {
    if change.is_more() { Trend::Rising } else { Trend::Falling }
}
