//! `log_analysis` of a bundle: what log lines say, as the evidence groups them.

use std::collections::BTreeSet;

use eog_core::EntityId;
use eog_evidence::LogPattern;
use serde::{Deserialize, Serialize};

use super::records::peer;
use super::{BundleTool, BundleToolbox, word};
use crate::tools::entities::Chosen;
use crate::tools::query::{Cell, Filters, Kind, Names, Page, Query, Table, TimeRange, near};
use crate::tools::records::about;
use crate::tools::signals::short;
use crate::tools::{LogAnalysis, Tool, ToolError};

/// As the evidence calls them; snapshots say `unknown` for the last.
const LEVELS: [&str; 5] = ["error", "warning", "info", "debug", "no level"];

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Logs {
    entity: Option<String>,
    severity: Names,
    text: Option<String>,
    filters: Filters,
    window: Option<TimeRange>,
    columns: Names,
    sort: Names,
    limit: Option<usize>,
    offset: usize,
}

/// Patterns, with counts.
#[derive(Serialize)]
pub(super) struct Patterns {
    /// The lines of all patterns that were chosen.
    lines: usize,
    /// Lines of which only the number is known, since they say too many things.
    not_kept: usize,
    #[serde(flatten)]
    page: Page,
}

struct Said<'b> {
    entity: &'b EntityId,
    pattern: LogPattern,
    /// How many of its lines, of a hundred that were chosen.
    percent: f64,
}

fn levels(names: &Names) -> Result<BTreeSet<&'static str>, ToolError> {
    let each = names.iter().map(|name| {
        let known = match name.to_lowercase().as_str() {
            "warn" => "warning".to_owned(),
            "err" | "fatal" | "critical" => "error".to_owned(),
            "trace" => "debug".to_owned(),
            "unknown" | "none" => "no level".to_owned(),
            other => other.to_owned(),
        };
        LEVELS.into_iter().find(|level| *level == known).ok_or_else(|| {
            let hint = near(&known, LEVELS.into_iter(), "severities");
            ToolError::argument("severity", format!("there is no severity {name:?}"), hint)
        })
    });
    each.collect()
}

impl BundleTool for Logs {
    const NAME: &'static str = LogAnalysis::NAME;
    const ARGUMENTS: &'static [&'static [&'static str]] = &[&[
        "entity", "severity", "text", "filters", "window", "columns", "sort", "limit", "offset",
    ]];
    type Answer = Patterns;

    fn ask(&self, toolbox: &BundleToolbox<'_>) -> Result<Patterns, ToolError> {
        let chosen = Chosen::new(|| toolbox.entities(), self.entity.as_deref())?;
        let levels = levels(&self.severity)?;
        let text = self.text.as_ref().map(|text| text.to_lowercase());
        let fits = |pattern: &LogPattern| {
            let says = |text: &String| {
                pattern.pattern.to_lowercase().contains(text)
                    || pattern.example.to_lowercase().contains(text)
            };
            (levels.is_empty() || levels.contains(pattern.level))
                && text.as_ref().is_none_or(says)
                && !pattern.times.is_empty()
        };
        let mut rows = Vec::new();
        let mut not_kept = 0;
        for logs in toolbox.bundle().logs().filter(|logs| chosen.fits(logs.entity())) {
            not_kept += logs.beyond();
            for mut pattern in logs.patterns() {
                let in_time = |at: &_| self.window.is_none_or(|window| window.contains(*at));
                pattern.times.retain(in_time);
                if fits(&pattern) {
                    rows.push(Said { entity: logs.entity(), pattern, percent: 0.0 });
                }
            }
        }
        let query = Query { filters: self.filters.clone(), ..Query::default() };
        let kept = query.choose(&table(rows.iter().collect()))?;
        let lines: usize = kept.iter().map(|at| rows[*at].pattern.times.len()).sum();
        let mut all: Vec<Option<Said<'_>>> = rows.into_iter().map(Some).collect();
        let mut rows: Vec<Said<'_>> = kept.into_iter().filter_map(|at| all[at].take()).collect();
        for row in &mut rows {
            row.percent = short(100.0 * row.pattern.times.len() as f64 / lines.max(1) as f64);
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.pattern.times.len()));
        let shown = Query::of_all(&self.columns, &self.sort, self.limit, self.offset);
        let page = shown.run(&table(rows.iter().collect()))?;
        Ok(Patterns { lines, not_kept, page })
    }
}

fn table<'t, 'b: 't>(rows: Vec<&'t Said<'b>>) -> Table<'t, &'t Said<'b>> {
    let table = Table::new(rows)
        .column("pattern", Kind::Text, |row| Cell::text(&row.pattern.pattern))
        .column("lines", Kind::Number, |row| Cell::count(row.pattern.times.len()))
        .column("percent", Kind::Number, |row| Cell::Number(row.percent))
        .column("severity", Kind::Text, |row| Cell::text(row.pattern.level));
    let table = about(table, |row| Some(row.entity), |_| "")
        .column("signal", Kind::Text, |row| word(&row.pattern.signal));
    peer(table, |row| row.pattern.peer.as_ref())
        .column("first", Kind::Time, |row| row.pattern.times.first().copied().into())
        .column("last", Kind::Time, |row| row.pattern.times.last().copied().into())
        .column("example", Kind::Text, |row| Cell::text(&row.pattern.example))
}
