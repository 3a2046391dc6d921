//! Findings from logs: patterns that are new or surge.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use eog_core::evidence::{EvidenceTime, Quantity, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};
use eog_evidence::{holes, rate_onset, rates_differ, recorded_seconds, words};
use jiff::SignedDuration;

use super::{Compare, Draft, rounded, selector, since};
use crate::graph::NameIndex;
use crate::names;
use crate::read::Resource;
use crate::store::{LogRef, Logs, number};

/// Most findings of one entity.
const MAX_FINDINGS: usize = 6;

/// Severity number from which a line counts as an error.
const ERROR: u8 = 17;

/// Fewest lines of a pattern, unless they are errors.
const MIN_LINES: usize = 3;

/// How many times more frequent a pattern must become.
const MIN_SURGE: f64 = 3.0;

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

    /// How many lines there are of an entity.
    pub(crate) fn count(&self, entity: &EntityId) -> usize {
        self.by_entity.get(entity).map_or(0, |lines| lines.rows.len())
    }

    /// Patterns of an entity that are new or surge in the second period, worst first.
    pub(crate) fn findings(
        &self,
        logs: &Logs,
        entity: &EntityId,
        compare: &Compare,
    ) -> Vec<Finding> {
        let Some(lines) = self.by_entity.get(entity) else { return Vec::new() };
        let patterns = lines.patterns(logs, compare);
        let seconds = [compare.before, compare.after]
            .map(|window| recorded_seconds(window, &self.holes).max(1.0));
        let mut worst: Vec<(&str, Pattern, f64)> = patterns
            .into_iter()
            .filter_map(|(text, pattern)| {
                let surge = pattern.surge(seconds)?;
                Some((text, pattern, surge))
            })
            .collect();
        worst.sort_by(|(text_a, a, surge_a), (text_b, b, surge_b)| {
            let severe = |pattern: &Pattern| pattern.is_error();
            severe(b).cmp(&severe(a)).then(surge_b.total_cmp(surge_a)).then(text_a.cmp(text_b))
        });
        // Errors of one trouble come in many words, most of them rarely: a rare pattern alone is not
        // dated, and the first of many rare ones is likely before its time. So all of them together
        // say when errors began; a few that may be there by chance say nothing of it.
        let errors = worst.iter().filter(|(_, pattern, _)| pattern.is_error());
        let count = |of: fn(&Pattern<'_>) -> usize| -> f64 {
            errors.clone().map(|(_, pattern, _)| of(pattern) as f64).sum()
        };
        let counted = [count(|pattern| pattern.before), count(|pattern| pattern.after)];
        let by_more_than_chance = rates_differ((counted[0], seconds[0]), (counted[1], seconds[1]));
        let errors: Vec<LogRef<'_>> =
            errors.filter_map(|(_, pattern, _)| pattern.example).collect();
        let errors_began = lines.onset(logs, &errors, compare).filter(|_| by_more_than_chance);
        worst.truncate(MAX_FINDINGS);
        let found = worst.into_iter();
        found
            .filter_map(|(text, pattern, _)| {
                let onset = match pattern.is_error() {
                    true => errors_began,
                    false => lines.onset(logs, &[pattern.example?], compare),
                };
                pattern.finding(entity, text, onset, seconds, compare)
            })
            .collect()
    }
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

    /// When lines like some began to come, or to come more often.
    fn onset(&self, logs: &Logs, like: &[LogRef<'_>], compare: &Compare) -> Option<Onset> {
        let known = like.iter().filter_map(|line| self.known.get(&line.pattern_number()));
        let wanted: BTreeSet<u32> = known.copied().collect();
        let rows = self.rows.iter().zip(&self.pattern);
        let rows = rows.filter(|(_, pattern)| wanted.contains(pattern));
        let times = rows.map(|(row, _)| logs.get(*row).at());
        let times: Vec<Timestamp> = times.take_while(|at| *at < compare.after.end()).collect();
        let (first, _) = logs.at.extent()?;
        rate_onset(&times, Window::new(first, compare.after.end()).ok()?, Trend::Rising)
    }

    /// The patterns that occur in either period, by their text.
    fn patterns<'a>(&self, logs: &'a Logs, compare: &Compare) -> BTreeMap<&'a str, Pattern<'a>> {
        let mut counted: Vec<Option<Pattern<'a>>> = Vec::new();
        counted.resize_with(self.patterns.len(), || None);
        for (window, is_after) in [(compare.before, false), (compare.after, true)] {
            let places = logs.at.places(&self.rows, window);
            let rows = self.rows.get(places.clone()).unwrap_or_default();
            let patterns = self.pattern.get(places).unwrap_or_default();
            for (row, pattern) in rows.iter().zip(patterns) {
                if let Some(slot) = counted.get_mut(*pattern as usize) {
                    slot.get_or_insert_default().add(logs.get(*row), is_after);
                }
            }
        }
        let texts = self.patterns.iter().map(|number| logs.texts.get(*number));
        texts.zip(counted).filter_map(|(text, pattern)| Some((text, pattern?))).collect()
    }
}

#[derive(Default)]
struct Pattern<'a> {
    before: usize,
    after: usize,
    severity: u8,
    /// The first line in the second period.
    example: Option<LogRef<'a>>,
}

impl<'a> Pattern<'a> {
    fn add(&mut self, log: LogRef<'a>, is_after: bool) {
        self.severity = self.severity.max(log.severity());
        if !is_after {
            self.before += 1;
            return;
        }
        self.after += 1;
        if self.example.is_none_or(|example| log.at() < example.at()) {
            self.example = Some(log);
        }
    }

    fn is_error(&self) -> bool {
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
        let says_error = || {
            let text = self.example.map(|log| words(log.text())).unwrap_or_default();
            text.iter().any(|word| WORDS.contains(&word.as_str()))
        };
        // Information lines speak of errors as a topic; severity is trusted when it is given.
        self.severity >= ERROR || (!(1..=12).contains(&self.severity) && says_error())
    }

    /// How many times more frequent the pattern became, when that is worth telling.
    fn surge(&self, seconds: [f64; 2]) -> Option<f64> {
        let (before, after) = self.rates(seconds);
        let enough = self.after >= MIN_LINES || (self.is_error() && self.after > 0);
        let surge = if self.before == 0 { f64::INFINITY } else { after / before };
        (enough && surge >= MIN_SURGE).then_some(surge)
    }

    /// Lines a minute in both periods, of which so many seconds were recorded.
    fn rates(&self, [before, after]: [f64; 2]) -> (f64, f64) {
        let rate = |count: usize, seconds: f64| count as f64 * 60.0 / seconds;
        (rate(self.before, before), rate(self.after, after))
    }

    fn finding(
        &self,
        entity: &EntityId,
        text: &str,
        onset: Option<Onset>,
        seconds: [f64; 2],
        compare: &Compare,
    ) -> Option<Finding> {
        let example = self.example?;
        let (before, after) = self.rates(seconds);
        let news = if self.before == 0 { "new" } else { "surging" };
        let end = example.at().checked_add(SignedDuration::from_secs(1)).ok()?;
        let window = Window::new(example.at(), compare.after.end().max(end)).ok()?;
        let draft = Draft {
            entity,
            kind: EvidenceKind::Log,
            signal: if self.is_error() { Signal::Errors } else { Signal::Other },
            trend: Trend::Rising,
            time: EvidenceTime::During(window),
            quantity: Some(Quantity {
                observed: after,
                baseline: Some(before),
                unit: "lines/min".into(),
            }),
            peer: None,
            source: example.file(),
            query: format!("{} {} pattern={text:?}", example.file(), selector(entity)),
            excerpt: format!(
                "{news} log pattern, {} lines, {} ({} a minute, {} before): {}",
                self.after,
                since(onset),
                rounded(after),
                rounded(before),
                example.text()
            ),
            onset,
        };
        Some(draft.finding())
    }
}
