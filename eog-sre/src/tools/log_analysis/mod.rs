//! `log_analysis`: what log lines say, as patterns with counts.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::{EntityId, Timestamp};
use serde::{Deserialize, Serialize};

use super::entities::Chosen;
use super::query::{Cell, Filters, Kind, Names, Page, Pattern, Query, Table, TimeRange, near};
use super::signals::short;
use super::tool::Tool;
use super::{ToolError, Toolbox};
use crate::graph::OperationalGraph;
use crate::names;
use crate::read::Resource;
use crate::store::{LogRef, Logs};

/// Most kinds of senders that a row lists.
const MAX_SENDERS: usize = 8;

/// Severities by OpenTelemetry's numbers, gravest first.
const SEVERITIES: [(&str, std::ops::RangeInclusive<u8>); 7] = [
    ("fatal", 21..=255),
    ("error", 17..=20),
    ("warning", 13..=16),
    ("info", 9..=12),
    ("debug", 5..=8),
    ("trace", 1..=4),
    ("unknown", 0..=0),
];

/// Patterns of the matching lines, each with its counts and its first line.
///
/// The patterns are those of findings, over all lines of the snapshot. Lines of different gravity
/// (errors, warnings, others) are never merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogAnalysis {
    /// Logged by which entity: a service, pod or workload such as `shop/Service/cart`, the end of
    /// a name if that is unique, or a pattern such as `shop/Pod/cart-*`.
    pub entity: Option<String>,
    /// The service as the lines name it; can be a pattern such as `cart*`.
    pub service: Option<String>,
    /// Only lines of these severities: fatal, error, warning, info, debug, trace, unknown.
    pub severity: Names,
    /// Only lines that contain this text, ignoring case.
    pub text: Option<String>,
    /// Conditions on columns: time, service, namespace, pod, workload, severity, text.
    pub filters: Filters,
    /// Only lines written in this window.
    pub window: Option<TimeRange>,
    /// Columns to show: pattern, lines, percent, severities, services, first, last, example.
    pub columns: Names,
    /// Columns to sort by; a leading minus sorts in descending order. By default the most frequent
    /// come first.
    pub sort: Names,
    /// Maximum number of patterns: 50 by default, at most 1000; 0 means 1000.
    pub limit: Option<usize>,
    /// Number of patterns to skip.
    pub offset: usize,
}

/// The answer to [`LogAnalysis`], with one row for each pattern: `pattern`, `lines`, `percent` of the
/// matching lines, `severities` and `services` with counts, `first` and `last` time, and the first
/// line as `example`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogPatternPage {
    /// Number of matching lines.
    pub lines: usize,
    /// Lines of a bundle of which only the number is known, since their entity says too many things;
    /// absent for snapshots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<usize>,
    /// The patterns.
    #[serde(flatten)]
    pub page: Page,
}

/// How grave a line is: an error, a warning, or anything else.
fn gravity(log: LogRef<'_>) -> u8 {
    match log.severity() {
        17.. => 2,
        13..=16 => 1,
        _ => 0,
    }
}

fn severity_name(severity: u8) -> &'static str {
    let found = SEVERITIES.iter().find(|(_, numbers)| numbers.contains(&severity));
    found.map_or("unknown", |(name, _)| name)
}

/// What distinguishes senders: namespace, service, pod, workload.
type SenderKey<'a> = (&'a str, &'a str, &'a str, &'a str);

impl LogAnalysis {
    /// The lines that fit.
    fn lines<'t>(&self, toolbox: &'t Toolbox) -> Result<Vec<LogRef<'t>>, ToolError> {
        let logs = &toolbox.snapshot().logs;
        let text = self.text.as_ref().map(|text| text.to_lowercase());
        let senders = match &self.entity {
            Some(_) => senders(logs, toolbox.graph()),
            None => BTreeMap::new(),
        };
        let known = || senders.values().flatten().collect();
        let entity = Chosen::new(known, self.entity.as_deref())?;
        let severities = severities(&self.severity)?;
        let service = self.service.as_deref().map(|text| service(logs, text)).transpose()?;
        let of_entity = |log: &LogRef<'_>| {
            let mut sender = senders.get(&key(log.sender())).into_iter().flatten();
            self.entity.is_none() || sender.any(|one| entity.fits(one))
        };
        let fits = |log: &LogRef<'_>| {
            self.window.is_none_or(|window| window.contains(log.at()))
                && (severities.is_empty() || severities.contains(severity_name(log.severity())))
                && service.as_ref().is_none_or(|pattern| pattern.fits(&log.sender().service))
                && of_entity(log)
                && text.as_ref().is_none_or(|text| log.text().to_lowercase().contains(text))
        };
        let lines = lines_table(logs.iter().filter(fits).collect());
        let query = Query { filters: self.filters.clone(), ..Query::default() };
        let chosen = query.choose(&lines)?;
        Ok(chosen.into_iter().filter_map(|at| lines.rows.get(at).copied()).collect())
    }
}

/// Lines as a table.
fn lines_table(lines: Vec<LogRef<'_>>) -> Table<'_, LogRef<'_>> {
    Table::new(lines)
        .column("time", Kind::Time, |log| Cell::Time(log.at()))
        .column("service", Kind::Text, |log| Cell::text(&log.sender().service))
        .column("namespace", Kind::Text, |log| Cell::text(&log.sender().namespace))
        .column("pod", Kind::Text, |log| Cell::text(&log.sender().pod))
        .column("workload", Kind::Text, |log| {
            log.sender().workload.as_ref().map(|(_, name)| name.as_str()).into()
        })
        .column("severity", Kind::Text, |log| Cell::text(severity_name(log.severity())))
        .column("text", Kind::Text, |log| Cell::text(log.text()))
}

fn key(sender: &Resource) -> SenderKey<'_> {
    let workload = sender.workload.as_ref().map_or("", |(_, name)| name);
    (&sender.namespace, &sender.service, &sender.pod, workload)
}

/// The entities that each sender stands for: its service, its pod, its workload.
fn senders<'a>(logs: &'a Logs, graph: &OperationalGraph) -> BTreeMap<SenderKey<'a>, Vec<EntityId>> {
    let mut senders: BTreeMap<SenderKey<'a>, Vec<EntityId>> = BTreeMap::new();
    for sender in &logs.senders {
        senders.entry(key(sender)).or_insert_with(|| {
            let space = match sender.namespace.as_str() {
                "" => graph.index.namespace_of(&sender.service),
                given => given.to_owned(),
            };
            let service = Some(&sender.service).filter(|name| !name.is_empty());
            let service = service.and_then(|name| graph.index.service(&space, name));
            let pod = names::entity(&sender.namespace, "Pod", &sender.pod);
            let workload = sender.workload.as_ref();
            let workload = workload.and_then(|(kind, name)| names::entity(&space, kind, name));
            let owner = pod.as_ref().and_then(|pod| graph.workload_of(pod)).cloned();
            let all: BTreeSet<EntityId> =
                [service, pod, workload, owner].into_iter().flatten().collect();
            all.into_iter().collect()
        });
    }
    senders
}

/// The service that an argument names, which some line must have unless it is a pattern.
fn service(logs: &Logs, text: &str) -> Result<Pattern, ToolError> {
    let services: BTreeSet<&str> = logs.senders.iter().map(|one| one.service.as_str()).collect();
    if !text.contains(['*', '?']) && !services.contains(text) {
        let reason = format!("no line comes from a service {text:?}");
        let hint = near(text, services.iter().copied(), "services");
        return Err(ToolError::argument("service", reason, hint));
    }
    Pattern::new(text).map_err(|reason| ToolError::argument("service", reason, ""))
}

/// The severities that names mean.
///
/// # Errors
/// [`ToolError::Argument`] for what is none.
pub(in crate::tools) fn severities(names: &Names) -> Result<BTreeSet<&'static str>, ToolError> {
    let each = names.iter().map(|name| {
        let lower = name.to_lowercase();
        let known = match lower.as_str() {
            "warn" => "warning",
            "err" => "error",
            "information" => "info",
            "critical" | "panic" => "fatal",
            "none" | "unspecified" | "no level" => "unknown",
            other => other,
        };
        let found = SEVERITIES.iter().find(|(name, _)| *name == known);
        found.map(|(name, _)| *name).ok_or_else(|| {
            let hint = near(&lower, SEVERITIES.iter().map(|(name, _)| *name), "severities");
            ToolError::argument("severity", format!("there is no severity {name:?}"), hint)
        })
    });
    each.collect()
}

/// The lines of one pattern.
#[derive(Default)]
struct Said<'a> {
    lines: usize,
    severities: BTreeMap<u8, usize>,
    services: BTreeMap<&'a str, usize>,
    /// The earliest line.
    example: Option<LogRef<'a>>,
    last: Option<Timestamp>,
}

impl<'a> Said<'a> {
    fn add(&mut self, log: LogRef<'a>) {
        self.lines += 1;
        *self.severities.entry(log.severity()).or_default() += 1;
        let sender = match log.sender().service.as_str() {
            "" => log.sender().pod.as_str(),
            service => service,
        };
        *self.services.entry(sender).or_default() += 1;
        if self.example.is_none_or(|example| log.at() < example.at()) {
            self.example = Some(log);
        }
        self.last = self.last.max(Some(log.at()));
    }

    fn first(&self) -> Option<Timestamp> {
        self.example.map(LogRef::at)
    }

    /// The cells in the order of [`PATTERN_COLUMNS`].
    fn cells(&self, pattern: &'a str, all: usize) -> [Cell<'a>; 8] {
        let named = |number: &u8| severity_name(*number);
        let mut severities: Vec<(&str, usize)> = Vec::new();
        for (number, count) in self.severities.iter().rev() {
            match severities.last_mut().filter(|(name, _)| *name == named(number)) {
                Some((_, sum)) => *sum += count,
                None => severities.push((named(number), *count)),
            }
        }
        let mut services: Vec<(&str, usize)> =
            self.services.iter().map(|(name, count)| (*name, *count)).collect();
        services.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let time = |at: Option<Timestamp>| at.map_or(Cell::Nothing, Cell::Time);
        [
            Cell::text(pattern),
            Cell::count(self.lines),
            Cell::Number(short(100.0 * self.lines as f64 / all.max(1) as f64)),
            Cell::Text(counted(&severities).into()),
            Cell::Text(counted(&services).into()),
            time(self.first()),
            time(self.last),
            self.example.map_or(Cell::Nothing, |log| Cell::text(log.text())),
        ]
    }
}

/// `error 3, info 1`.
fn counted(names: &[(&str, usize)]) -> String {
    let shown = names.iter().take(MAX_SENDERS);
    let mut text: Vec<String> = shown.map(|(name, count)| format!("{name} {count}")).collect();
    if names.len() > MAX_SENDERS {
        text.push(format!("{} more", names.len() - MAX_SENDERS));
    }
    text.join(", ")
}

const PATTERN_COLUMNS: [(&str, Kind); 8] = [
    ("pattern", Kind::Text),
    ("lines", Kind::Number),
    ("percent", Kind::Number),
    ("severities", Kind::Text),
    ("services", Kind::Text),
    ("first", Kind::Time),
    ("last", Kind::Time),
    ("example", Kind::Text),
];

impl Tool for LogAnalysis {
    const NAME: &'static str = "log_analysis";
    const SUMMARY: &'static str = "Log lines grouped into patterns, with counts";
    const DESCRIPTION: &'static str = "\
Groups log lines that differ only in numbers, ids, quoted parts and single words, and returns each
pattern with its number of lines, severities, services, first and last time, and first line. Sort
by `-first` to see what is new.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"service": "cart", "severity": "error,warning"}"#,
        r#"{"text": "timeout", "window": "2026-01-01T10:00:00Z/", "sort": "-first"}"#,
    ];
    type Answer = LogPatternPage;

    fn run(&self, toolbox: &Toolbox) -> Result<LogPatternPage, ToolError> {
        let chosen = self.lines(toolbox)?;
        let lines = chosen.len();
        let mut found: BTreeMap<(&str, u8), Said<'_>> = BTreeMap::new();
        for log in chosen {
            found.entry((log.pattern(), gravity(log))).or_default().add(log);
        }
        let mut rows: Vec<(&str, Said<'_>)> =
            found.into_iter().map(|((pattern, _), said)| (pattern, said)).collect();
        rows.sort_by(|a, b| b.1.lines.cmp(&a.1.lines).then(a.1.first().cmp(&b.1.first())));
        let rows = rows.iter().map(|(text, said)| said.cells(text, lines).to_vec()).collect();
        let shown = Query::of_all(&self.columns, &self.sort, self.limit, self.offset);
        let page = shown.run(&Table::worked_out(PATTERN_COLUMNS, rows))?;
        Ok(LogPatternPage { lines, not_kept: None, page })
    }
}
