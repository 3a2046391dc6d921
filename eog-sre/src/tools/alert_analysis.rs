//! `alert_analysis`: every alert in every dump, chosen, grouped and sorted.

use std::collections::BTreeSet;

use eog_core::EntityId;
use serde::Deserialize;

use super::info::Tool;
use super::query::{Cell, Column, Filters, Kind, Names, Page, Query, Table, TimeRange};
use super::{ToolError, Toolbox, entities};
use crate::evidence::entity_of;
use crate::graph::OperationalGraph;
use crate::names;
use crate::read::AlertRecord;
use crate::snapshot::Snapshot;

/// Most labels that become columns.
const MAX_LABELS: usize = 200;

/// Arguments of [`alert_analysis()`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlertAnalysis {
    /// Whose alerts: an entity such as `shop/Service/cart`, an end of its name that no other has,
    /// or a pattern such as `shop/*`.
    pub entity: Option<String>,
    /// Conditions on columns: seen_at, alert, entity, namespace, kind, name, severity, state,
    /// active_at, minutes_active, value, description, file, and `labels.NAME` for every label.
    pub filters: Filters,
    /// When the dump was taken.
    pub window: Option<TimeRange>,
    /// Columns by which rows are put together; each group has a count.
    pub group_by: Names,
    /// Values of each group: `count`, or a function of a column such as `max(value)`.
    pub aggregates: Names,
    /// Columns to show. Without it all but namespace, kind, name, file and the labels.
    pub columns: Names,
    /// Columns to sort by, with a minus before those that fall. Rows stand in the order of the
    /// dumps, groups in that of their count.
    pub sort: Names,
    /// Most rows: 50 unless given, at most 1000; 0 is the most.
    pub limit: Option<usize>,
    /// How many rows to pass over.
    pub offset: usize,
}

/// The alerts that fit, one row for each alert in each dump.
///
/// # Errors
/// [`ToolError::Argument`] for unknown entities and columns, and for conditions that do not fit.
pub fn alert_analysis(
    snapshot: &Snapshot,
    graph: &OperationalGraph,
    arguments: &AlertAnalysis,
) -> Result<Page, ToolError> {
    let mut rows: Vec<(&AlertRecord, Option<EntityId>)> =
        snapshot.alerts.iter().map(|record| (record, entity_of(record, graph))).collect();
    let labels = rows.iter().flat_map(|(record, _)| record.labels.keys());
    let labels: Vec<&str> =
        labels.collect::<BTreeSet<_>>().into_iter().take(MAX_LABELS).map(String::as_str).collect();
    if let Some(text) = &arguments.entity {
        let mut known = entities::known(snapshot, graph);
        known.extend(rows.iter().filter_map(|(_, entity)| entity.as_ref()));
        let chosen = entities::chosen(&known, "entity", text)?;
        rows.retain(|(_, entity)| {
            entity.as_ref().is_some_and(|entity| chosen.fits(entity.as_str()))
        });
    }
    rows.sort_by_key(|(record, _)| record.seen_at.unwrap_or(record.active_at));
    let mut columns = COLUMNS.to_vec();
    columns.extend(labels.iter().map(|label| Column {
        name: format!("labels.{label}").into(),
        kind: Kind::Text,
        shown: false,
    }));
    let query = Query {
        window: arguments.window.as_ref(),
        filters: &arguments.filters,
        group_by: &arguments.group_by,
        aggregates: &arguments.aggregates,
        columns: &arguments.columns,
        sort: &arguments.sort,
        limit: arguments.limit,
        offset: arguments.offset,
    };
    query.run(&Alerts { rows, labels, columns })
}

impl Tool for AlertAnalysis {
    const NAME: &'static str = "alert_analysis";
    const SUMMARY: &'static str = "Every alert in every dump: chosen, grouped, sorted";
    const DESCRIPTION: &'static str = "\
One row for each alert in each dump: when it was seen, since when it is active, its value. Every
label is a column `labels.NAME`. To learn which alerts there were, alert_summary is shorter.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"filters": {"alert": "*ErrorRate"}, "group_by": "entity", "aggregates": "count, max(value)"}"#,
        r#"{"entity": "shop/Service/cart", "sort": "-seen_at", "limit": 5}"#,
    ];
    type Answer = Page;

    fn run(&self, toolbox: &Toolbox) -> Result<Page, ToolError> {
        alert_analysis(toolbox.snapshot(), toolbox.graph(), self)
    }
}

struct Alerts<'s> {
    rows: Vec<(&'s AlertRecord, Option<EntityId>)>,
    labels: Vec<&'s str>,
    columns: Vec<Column>,
}

static COLUMNS: [Column; 13] = [
    Column::new("seen_at", Kind::Time),
    Column::new("alert", Kind::Text),
    Column::new("entity", Kind::Text),
    Column::hidden("namespace", Kind::Text),
    Column::hidden("kind", Kind::Text),
    Column::hidden("name", Kind::Text),
    Column::new("severity", Kind::Text),
    Column::new("state", Kind::Text),
    Column::new("active_at", Kind::Time),
    Column::new("minutes_active", Kind::Number),
    Column::new("value", Kind::Number),
    Column::new("description", Kind::Text),
    Column::hidden("file", Kind::Text),
];

impl Table for Alerts<'_> {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let (alert, entity) = &self.rows[row];
        let of_entity = |part: fn(&EntityId) -> &str| {
            entity.as_ref().map_or(Cell::Nothing, |entity| Cell::text(part(entity)))
        };
        let Some(known) = COLUMNS.get(column) else {
            return Cell::text(alert.label(self.labels[column - COLUMNS.len()]));
        };
        match known.name.as_ref() {
            "seen_at" => Cell::Time(alert.seen_at.unwrap_or(alert.active_at)),
            "alert" => Cell::text(&alert.name),
            "entity" => of_entity(EntityId::as_str),
            "namespace" => {
                let of_entity = entity.as_ref().and_then(names::namespace_of);
                Cell::text(of_entity.unwrap_or_else(|| alert.label("namespace")))
            }
            "kind" => of_entity(names::kind_of),
            "name" => of_entity(names::bare),
            "severity" => Cell::text(alert.label("severity")),
            "state" => Cell::text(&alert.state),
            "active_at" => Cell::Time(alert.active_at),
            "minutes_active" => alert.seen_at.map_or(Cell::Nothing, |seen| {
                let minutes = seen.duration_since(alert.active_at).as_secs_f64() / 60.0;
                Cell::Number((minutes * 10.0).round() / 10.0)
            }),
            "value" => alert.value.map_or(Cell::Nothing, Cell::Number),
            "description" => Cell::text(&alert.description),
            _ => Cell::text(&alert.file),
        }
    }

    fn time_column(&self) -> Option<usize> {
        Some(0)
    }
}
