//! `log_analysis` of a bundle: what log lines say, as the evidence groups them.

use std::collections::BTreeSet;

use eog_core::EntityId;
use eog_evidence::LogPattern;

use super::records::peer;
use super::{BundleTool, BundleToolbox, word};
use crate::tools::entities::Chosen;
use crate::tools::log_analysis::severities;
use crate::tools::query::{Cell, Kind, Names, Query, Table};
use crate::tools::records::about;
use crate::tools::signals::short;
use crate::tools::{LogAnalysis, LogPatternPage, ToolError};

struct Said<'b> {
    entity: &'b EntityId,
    pattern: LogPattern,
    /// How many of its lines, of a hundred that were chosen.
    percent: f64,
}

/// The levels of the evidence that severities mean: it has neither `fatal` nor `trace`.
fn levels(names: &Names) -> Result<BTreeSet<&'static str>, ToolError> {
    let level = |severity| match severity {
        "fatal" => "error",
        "trace" => "debug",
        "unknown" => "no level",
        other => other,
    };
    Ok(severities(names)?.into_iter().map(level).collect())
}

impl BundleTool for LogAnalysis {
    const ARGUMENTS: &'static [&'static str] =
        &["entity", "severity", "text", "filters", "window", "columns", "sort", "limit", "offset"];

    fn of_bundle(&self, toolbox: &BundleToolbox<'_>) -> Result<LogPatternPage, ToolError> {
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
        Ok(LogPatternPage { lines, not_kept: Some(not_kept), page })
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
