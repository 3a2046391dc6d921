//! `k8s_spec_change_analysis`: what changed in objects, leaf by leaf, and which came or went.

use std::borrow::Cow;

use eog_core::EntityId;
use serde::Deserialize;

use super::{Records, about};
use crate::evidence::{ChangeType, ObjectChange, object_changes};
use crate::tools::entities::{self, Chosen};
use crate::tools::query::{Cell, Kind, Query, Table};
use crate::tools::{ToolError, Toolbox};

/// Which time of a change counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TimeBasis {
    /// When it was written, according to the object's managed fields or creation time; if neither
    /// says, when a dump first shows it.
    #[default]
    Written,
    /// When a dump first shows it.
    Dump,
}

/// Changes of objects, one row per changed field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpecChangeAnalysis {
    /// Which time of a change counts: `written` (managed fields) or `dump` (the first dump that
    /// shows it).
    pub time_basis: TimeBasis,
}

pub(crate) struct Change<'s> {
    change: ObjectChange<'s>,
    workload: Option<&'s EntityId>,
}

impl Change<'_> {
    fn kind(&self) -> &'static str {
        match self.change.change {
            ChangeType::Changed => "changed",
            ChangeType::Added => "added",
            ChangeType::Removed => "removed",
            ChangeType::Restarted => "restarted",
            ChangeType::Created => "created",
            ChangeType::Deleted => "deleted",
        }
    }
}

impl Records for SpecChangeAnalysis {
    const NAME: &'static str = "k8s_spec_change_analysis";
    const SUMMARY: &'static str =
        "Which objects changed, field by field, and which were created or deleted";
    const DESCRIPTION: &'static str = "\
One row for each field that differs between two dumps of an object, and for each object that was
created or deleted during the recording. `time` is when the change was written according to the
managed fields or, with the time basis `dump`, the first dump that shows it. `type` is changed,
added, removed, restarted, created or deleted. Status and bookkeeping fields do not count.
`consequence` marks what the cluster itself changes in response to something else (endpoints,
replica sets, pods of a workload); look for causes among the other rows. Rows are in time order.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"filters": {"consequence": false}}"#,
        r#"{"entity": "shop/*", "window": "2026-01-01T10:00:00Z/2026-01-01T11:00:00Z", "sort": "-time"}"#,
        r#"{"group_by": "entity", "aggregates": "count, min(time), max(time)"}"#,
    ];
    const OWN: &'static [&'static str] = &["time_basis"];
    type Row<'s> = Change<'s>;

    fn columns<'s>(table: Table<'s, Change<'s>>) -> Table<'s, Change<'s>> {
        // An empty value is a value here, and differs from none.
        fn value(text: Option<&String>) -> Cell<'_> {
            text.map_or(Cell::Nothing, |text| Cell::Text(Cow::Borrowed(text)))
        }
        let table = table.column("time", Kind::Time, |row| Cell::Time(row.change.at));
        about(table, |row| Some(row.change.entity), |_| "")
            .column("workload", Kind::Text, |row| row.workload.map(EntityId::as_str).into())
            .hidden()
            .column("type", Kind::Text, |row| Cell::text(row.kind()))
            .column("path", Kind::Text, |row| Cell::text(&row.change.path))
            .column("old", Kind::Text, |row| value(row.change.old.as_ref()))
            .column("new", Kind::Text, |row| value(row.change.new.as_ref()))
            .column("manager", Kind::Text, |row| row.change.manager.as_deref().into())
            .column("basis", Kind::Text, |row| Cell::text(&row.change.basis))
            .column("seen_before", Kind::Time, |row| row.change.seen_before.into())
            .column("seen_after", Kind::Time, |row| Cell::Time(row.change.seen_after))
            .column("consequence", Kind::Flag, |row| Cell::Flag(row.change.consequence))
    }

    fn rows<'s>(&self, toolbox: &'s Toolbox, query: &Query) -> Result<Vec<Change<'s>>, ToolError> {
        let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
        let chosen = Chosen::new(|| entities::known(snapshot, graph), query.entity.as_deref())?;
        let objects = snapshot.objects.histories.keys().filter(|entity| chosen.fits(entity));
        let mut changes: Vec<ObjectChange<'s>> =
            objects.flat_map(|entity| object_changes(&snapshot.objects, entity)).collect();
        if self.time_basis == TimeBasis::Dump {
            for change in &mut changes {
                (change.at, change.basis) =
                    (change.seen_after, Cow::Borrowed("first dump that shows it"));
            }
        }
        changes.retain(|change| query.covers(change.at));
        changes.sort_by(|a, b| (a.at, a.entity, &a.path).cmp(&(b.at, b.entity, &b.path)));
        let row = |change: ObjectChange<'s>| Change {
            workload: graph.workload_of(change.entity),
            change,
        };
        Ok(changes.into_iter().map(row).collect())
    }
}
