//! The log lines of a snapshot as the patterns that findings are made of.

use std::collections::{BTreeMap, HashMap};

use eog_core::contract::EvidenceQuery;
use eog_core::evidence::Signal;
use eog_core::{EntityId, Finding, Window};
use eog_evidence::{
    Depths, LinesRecorded, LogPattern, LogPatterns, Periods, RequestError, holes, joined_errors,
};

use crate::graph::NameIndex;
use crate::names;
use crate::read::Resource;
use crate::store::{LogRef, Logs, SpanRef, Spans, says_error};

/// Most steps from a span to the first of its trace.
const MAX_DEPTH: usize = 64;

/// The lines of a snapshot by entity: by service, else by pod.
#[derive(Debug, Default)]
pub(crate) struct LogIndex {
    /// The rows of each, in time order.
    by_entity: BTreeMap<EntityId, Vec<u32>>,
    /// When no line was recorded of anything.
    holes: Vec<Window>,
    /// From the first line to the last, errors and warnings left out.
    ordinary: Option<Window>,
    extent: Option<Window>,
}

impl LogIndex {
    /// Says who is who by the names of a graph.
    pub(crate) fn new(logs: &Logs, names: &NameIndex) -> Self {
        let entities: Vec<Option<EntityId>> =
            logs.senders.iter().map(|sender| entity_of(sender, names)).collect();
        let mut by_entity: BTreeMap<EntityId, Vec<u32>> = BTreeMap::new();
        for log in logs.iter() {
            let entity = entities.get(log.sender_number() as usize).and_then(Option::as_ref);
            let Some(entity) = entity else { continue };
            match by_entity.get_mut(entity) {
                Some(rows) => rows.push(log.row()),
                None => by_entity.entry(entity.clone()).or_default().push(log.row()),
            }
        }
        let is_ordinary = |log: &LogRef<'_>| !matches!(level(*log), "error" | "warning");
        let first = logs.iter().find(is_ordinary);
        let last = logs.iter().rev().find(is_ordinary);
        let ordinary = first.zip(last).and_then(|(a, b)| Window::new(a.at(), b.at()).ok());
        let extent = logs.at.extent().and_then(|(first, last)| Window::new(first, last).ok());
        Self { by_entity, holes: holes(logs.iter().map(LogRef::at)), ordinary, extent }
    }

    /// Whether there are no lines of any entity.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_entity.is_empty()
    }

    /// How many lines there are of an entity.
    pub(crate) fn count(&self, entity: &EntityId) -> usize {
        self.by_entity.get(entity).map_or(0, Vec::len)
    }

    /// What the lines of an entity say.
    pub(crate) fn findings(
        &self,
        logs: &Logs,
        entity: &EntityId,
        periods: &Periods,
    ) -> Vec<Finding> {
        let Some((patterns, source)) = self.patterns_of(logs, entity, periods) else {
            return Vec::new();
        };
        patterns.findings_within(self.recorded(), &self.within(periods), source, &mut Vec::new())
    }

    /// What a query finds in the lines of an entity.
    pub(crate) fn search(
        &self,
        logs: &Logs,
        entity: &EntityId,
        query: &EvidenceQuery,
        periods: &Periods,
    ) -> Vec<Finding> {
        let found = self.patterns_of(logs, entity, periods);
        found.map_or_else(Vec::new, |(patterns, source)| {
            patterns.search(query, self.recorded(), &self.within(periods), source)
        })
    }

    /// What the lines of an entity say up to the end of a window, and the file of the first of them.
    fn patterns_of<'l>(
        &self,
        logs: &'l Logs,
        entity: &EntityId,
        periods: &Periods,
    ) -> Option<(LogPatterns, &'l str)> {
        let rows = self.by_entity.get(entity)?;
        let end = periods.window.end();
        let lines = rows.iter().map(|row| logs.get(*row)).take_while(|log| log.at() < end);
        let source = rows.first().map_or("", |row| logs.get(*row).file());
        Some((LogPatterns::of_mined(entity.clone(), patterns(lines)), source))
    }

    /// What the errors and warnings of anything say.
    pub(crate) fn severe_patterns(&self, logs: &Logs) -> Vec<LogPattern> {
        let rows = self.by_entity.values().flatten().map(|row| logs.get(*row));
        patterns(rows.filter(|log| matches!(level(*log), "error" | "warning")))
    }

    /// Where the errors of requests begin and where they are passed on, by the error lines that name a trace or a request.
    pub(crate) fn joined(
        &self,
        logs: &Logs,
        (spans, senders): (&Spans, &[Option<EntityId>]),
        periods: &Periods,
    ) -> BTreeMap<EntityId, Vec<Finding>> {
        let compared = self.recorded().compared(&self.within(periods), false);
        let end = periods.window.end();
        let lines = || {
            let of_entity = |(entity, rows): (&'_ EntityId, &'_ Vec<u32>)| {
                let rows = rows.iter().map(|row| logs.get(*row));
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
        joined_errors(errors, &depths, compared.as_ref(), first.file())
    }

    fn recorded(&self) -> LinesRecorded<'_> {
        LinesRecorded { ordinary: self.ordinary, holes: &self.holes }
    }

    /// Rates are dated within the time from which there are lines.
    fn within(&self, periods: &Periods) -> Periods {
        Periods { observed: self.extent, ..periods.clone() }
    }
}

/// Lines, which come in time order, by what they say and how severe they are.
fn patterns<'a>(lines: impl Iterator<Item = LogRef<'a>>) -> Vec<LogPattern> {
    let mut found: Vec<LogPattern> = Vec::new();
    // Look-ups alone.
    let mut known: HashMap<(u32, u8), usize> = HashMap::new();
    for log in lines {
        let place = *known.entry((log.pattern_number(), log.severity())).or_insert_with(|| {
            let level = level(log);
            let signal = if level == "error" { Signal::Errors } else { Signal::Other };
            found.push(LogPattern {
                pattern: log.pattern().to_owned(),
                level,
                signal,
                peer: None,
                example: log.text().to_owned(),
                times: Vec::new(),
            });
            found.len() - 1
        });
        if let Some(pattern) = found.get_mut(place) {
            pattern.times.push(log.at());
        }
    }
    found
}

/// How severe a line is, in the words of [`LogPattern::level`].
fn level(log: LogRef<'_>) -> &'static str {
    match log.severity() {
        severity if says_error(severity, log.text()) => "error",
        13.. => "warning",
        9.. => "info",
        1.. => "debug",
        0 => "no level",
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
