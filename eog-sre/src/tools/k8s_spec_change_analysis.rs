//! `k8s_spec_change_analysis`: what changed in objects, leaf by leaf, and which came or went.

use std::borrow::Cow;
use std::collections::BTreeMap;

use eog_core::EntityId;
use serde::Deserialize;

use super::info::Tool;
use super::query::{Cell, Column, Filters, Kind, Names, Page, Query, Table, TimeRange};
use super::{ToolError, Toolbox, entities};
use crate::evidence::{ChangeType, ObjectChange, object_changes};
use crate::graph::OperationalGraph;
use crate::names;
use crate::snapshot::Snapshot;

/// By which time a change counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TimeBasis {
    /// When it was written, by the object's managed fields or creation time; else by the dump.
    #[default]
    Written,
    /// The first dump that shows it.
    Dump,
}

/// Arguments of [`k8s_spec_change_analysis()`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpecChangeAnalysis {
    /// Which objects: one such as `shop/Deployment/cart`, an end of its name that no other has, or
    /// a pattern such as `shop/*`.
    pub entity: Option<String>,
    /// When the change was made, by the time basis.
    pub window: Option<TimeRange>,
    /// By which time a change counts: written (managed fields) or dump.
    pub time_basis: TimeBasis,
    /// Conditions on columns: time, entity, namespace, kind, name, workload, type (changed, added,
    /// removed, restarted, created, deleted), path, old, new, manager, basis, seen_before,
    /// seen_after, consequence.
    pub filters: Filters,
    /// Columns by which changes are put together; each group has a count.
    pub group_by: Names,
    /// Values of each group: `count`, or a function of a column such as `min(time)`.
    pub aggregates: Names,
    /// Columns to show.
    pub columns: Names,
    /// Columns to sort by, with a minus before those that fall. Changes stand in the order of
    /// time, groups in that of their count.
    pub sort: Names,
    /// Most rows: 50 unless given, at most 1000; 0 is the most.
    pub limit: Option<usize>,
    /// How many rows to pass over.
    pub offset: usize,
}

/// The changes that fit, one row for each changed leaf.
///
/// # Errors
/// [`ToolError::Argument`] for unknown entities and columns, and for conditions that do not fit.
pub fn k8s_spec_change_analysis(
    snapshot: &Snapshot,
    graph: &OperationalGraph,
    arguments: &SpecChangeAnalysis,
) -> Result<Page, ToolError> {
    let histories = &snapshot.objects.histories;
    let chosen = match &arguments.entity {
        Some(text) => Some(entities::chosen(&entities::known(snapshot, graph), "entity", text)?),
        None => None,
    };
    let wanted =
        |entity: &&EntityId| chosen.as_ref().is_none_or(|chosen| chosen.fits(entity.as_str()));
    let mut changes: Vec<ObjectChange<'_>> = histories
        .keys()
        .filter(wanted)
        .flat_map(|entity| object_changes(&snapshot.objects, entity))
        .collect();
    if arguments.time_basis == TimeBasis::Dump {
        for change in &mut changes {
            (change.at, change.basis) =
                (change.seen_after, Cow::Borrowed("first dump that shows it"));
        }
    }
    changes.sort_by(|a, b| (a.at, a.entity, &a.path).cmp(&(b.at, b.entity, &b.path)));
    let workloads = changes.iter().map(|change| (change.entity, graph.workload_of(change.entity)));
    let workloads = workloads.collect();
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
    query.run(&Changes { changes, workloads })
}

impl Tool for SpecChangeAnalysis {
    const NAME: &'static str = "k8s_spec_change_analysis";
    const SUMMARY: &'static str = "What changed in objects, leaf by leaf, and which came or went";
    const DESCRIPTION: &'static str = "\
One row for each leaf that differs between two dumps of an object, and for each object that was
created or deleted while the recording ran. The time is that at which the change was written, by
managed fields, unless the time basis is dump. Status and bookkeeping do not count. `consequence`
marks what the cluster itself does about something else (endpoints, replica sets, pods of a
workload): causes are among the rest.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"filters": {"consequence": false}}"#,
        r#"{"entity": "shop/*", "window": "2026-01-01T10:00:00Z/2026-01-01T11:00:00Z", "sort": "-time"}"#,
        r#"{"group_by": "entity", "aggregates": "count, min(time), max(time)"}"#,
    ];
    type Answer = Page;

    fn run(&self, toolbox: &Toolbox) -> Result<Page, ToolError> {
        k8s_spec_change_analysis(toolbox.snapshot(), toolbox.graph(), self)
    }
}

struct Changes<'s> {
    changes: Vec<ObjectChange<'s>>,
    workloads: BTreeMap<&'s EntityId, Option<&'s EntityId>>,
}

static COLUMNS: [Column; 15] = [
    Column::new("time", Kind::Time),
    Column::new("entity", Kind::Text),
    Column::hidden("namespace", Kind::Text),
    Column::hidden("kind", Kind::Text),
    Column::hidden("name", Kind::Text),
    Column::hidden("workload", Kind::Text),
    Column::new("type", Kind::Text),
    Column::new("path", Kind::Text),
    Column::new("old", Kind::Text),
    Column::new("new", Kind::Text),
    Column::new("manager", Kind::Text),
    Column::new("basis", Kind::Text),
    Column::new("seen_before", Kind::Time),
    Column::new("seen_after", Kind::Time),
    Column::new("consequence", Kind::Flag),
];

impl Table for Changes<'_> {
    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn rows(&self) -> usize {
        self.changes.len()
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let change = &self.changes[row];
        let entity = change.entity;
        // An empty value is a value here, and differs from none.
        let value = |text: &'_ Option<String>| match text {
            Some(text) => Cell::Text(Cow::Owned(text.clone())),
            None => Cell::Nothing,
        };
        match COLUMNS[column].name.as_ref() {
            "time" => Cell::Time(change.at),
            "entity" => Cell::text(entity.as_str()),
            "namespace" => Cell::text(names::namespace_of(entity).unwrap_or_default()),
            "kind" => Cell::text(names::kind_of(entity)),
            "name" => Cell::text(names::bare(entity)),
            "workload" => {
                let workload = self.workloads.get(entity).copied().flatten();
                workload.map_or(Cell::Nothing, |workload| Cell::text(workload.as_str()))
            }
            "type" => Cell::text(match change.change {
                ChangeType::Changed => "changed",
                ChangeType::Added => "added",
                ChangeType::Removed => "removed",
                ChangeType::Restarted => "restarted",
                ChangeType::Created => "created",
                ChangeType::Deleted => "deleted",
            }),
            "path" => Cell::text(&change.path),
            "old" => value(&change.old),
            "new" => value(&change.new),
            "manager" => change.manager.as_deref().map_or(Cell::Nothing, Cell::text),
            "basis" => Cell::text(&change.basis),
            "seen_before" => change.seen_before.map_or(Cell::Nothing, Cell::Time),
            "seen_after" => Cell::Time(change.seen_after),
            _ => Cell::Flag(change.consequence),
        }
    }

    fn time_column(&self) -> Option<usize> {
        Some(0)
    }
}
