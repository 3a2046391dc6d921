//! `event_analysis`: the events of the cluster, chosen, grouped and sorted.

use std::collections::BTreeMap;

use eog_core::EntityId;
use serde::Deserialize;

use super::info::Tool;
use super::query::{Cell, Column, Filters, Kind, Names, Page, Query, Table, TimeRange};
use super::{ToolError, Toolbox, entities};
use crate::graph::OperationalGraph;
use crate::names;
use crate::read::EventRecord;
use crate::snapshot::Snapshot;

/// Arguments of [`event_analysis()`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventAnalysis {
    /// Whose events: an entity such as `shop/Pod/cart-1`, an end of its name that no other has, or
    /// a pattern such as `shop/*`.
    pub entity: Option<String>,
    /// Conditions on columns: time, entity, namespace, kind, name, workload, reason, type
    /// (Warning or Normal), message, times, first_time, component, node.
    pub filters: Filters,
    /// When the event happened last.
    pub window: Option<TimeRange>,
    /// Columns by which events are put together; each group has a count.
    pub group_by: Names,
    /// Values of each group: `count`, or a function of a column such as `max(time)`, `sum(times)`.
    pub aggregates: Names,
    /// Columns to show. Without it time, entity, reason, type, message, times and component.
    pub columns: Names,
    /// Columns to sort by, with a minus before those that fall. Events stand in the order of time,
    /// groups in that of their count.
    pub sort: Names,
    /// Most rows: 50 unless given, at most 1000; 0 is the most.
    pub limit: Option<usize>,
    /// How many rows to pass over.
    pub offset: usize,
}

/// The events that fit, each counted once although the cluster reports it in two API versions.
///
/// # Errors
/// [`ToolError::Argument`] for unknown entities and columns, and for conditions that do not fit.
pub fn event_analysis(
    snapshot: &Snapshot,
    graph: &OperationalGraph,
    arguments: &EventAnalysis,
) -> Result<Page, ToolError> {
    let mut events: Vec<&EventRecord> = snapshot.events.iter().collect();
    if let Some(text) = &arguments.entity {
        let chosen = entities::chosen(&entities::known(snapshot, graph), "entity", text)?;
        events.retain(|event| chosen.fits(event.entity.as_str()));
    }
    let workloads = events.iter().map(|event| &event.entity);
    let workloads = workloads.map(|entity| (entity, graph.workload_of(entity))).collect();
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
    query.run(&Events { events, workloads })
}

impl Tool for EventAnalysis {
    const NAME: &'static str = "event_analysis";
    const SUMMARY: &'static str = "Cluster events: chosen, grouped, sorted";
    const DESCRIPTION: &'static str = "\
Gives the events of the cluster (failed scheduling, probes, kills, scaling, …) that fit the
conditions, or counts them by group. Each event counts once, although the cluster reports it in two
API versions. `times` is how often the event had happened when it was reported.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"filters": {"type": "Warning"}, "group_by": "reason"}"#,
        r#"{"entity": "shop/Pod/*", "filters": {"reason": "Killing,Unhealthy"}, "sort": "-time"}"#,
    ];
    type Answer = Page;

    fn run(&self, toolbox: &Toolbox) -> Result<Page, ToolError> {
        event_analysis(toolbox.snapshot(), toolbox.graph(), self)
    }
}

struct Events<'s> {
    events: Vec<&'s EventRecord>,
    workloads: BTreeMap<&'s EntityId, Option<&'s EntityId>>,
}

static COLUMNS: [Column; 13] = [
    Column::new("time", Kind::Time),
    Column::new("entity", Kind::Text),
    Column::hidden("namespace", Kind::Text),
    Column::hidden("kind", Kind::Text),
    Column::hidden("name", Kind::Text),
    Column::hidden("workload", Kind::Text),
    Column::new("reason", Kind::Text),
    Column::new("type", Kind::Text),
    Column::new("message", Kind::Text),
    Column::new("times", Kind::Number),
    Column::hidden("first_time", Kind::Time),
    Column::new("component", Kind::Text),
    Column::hidden("node", Kind::Text),
];

impl Table for Events<'_> {
    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn rows(&self) -> usize {
        self.events.len()
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let event = self.events[row];
        let entity = &event.entity;
        match COLUMNS[column].name.as_ref() {
            "time" => Cell::Time(event.at),
            "entity" => Cell::text(entity.as_str()),
            "namespace" => Cell::text(names::namespace_of(entity).unwrap_or_default()),
            "kind" => Cell::text(names::kind_of(entity)),
            "name" => Cell::text(names::bare(entity)),
            "workload" => {
                let workload = self.workloads.get(entity).copied().flatten();
                workload.map_or(Cell::Nothing, |workload| Cell::text(workload.as_str()))
            }
            "reason" => Cell::text(&event.reason),
            "type" => Cell::text(if event.is_warning { "Warning" } else { "Normal" }),
            "message" => Cell::text(&event.message),
            "times" => Cell::Count(event.count),
            "first_time" => Cell::Time(event.first_at),
            "component" => Cell::text(&event.component),
            _ => Cell::text(&event.host),
        }
    }

    fn time_column(&self) -> Option<usize> {
        Some(0)
    }
}
