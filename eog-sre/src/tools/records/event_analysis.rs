//! `event_analysis`: the events of the cluster, chosen, grouped and sorted.

use eog_core::EntityId;
use serde::Deserialize;

use super::{Records, about};
use crate::read::EventRecord;
use crate::tools::entities::{self, Chosen};
use crate::tools::query::{Cell, Kind, Query, Table};
use crate::tools::{ToolError, Toolbox};

/// Cluster events, each counted once although the cluster reports it in two API versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventAnalysis {}

pub(crate) struct Event<'s> {
    event: &'s EventRecord,
    workload: Option<&'s EntityId>,
}

impl Records for EventAnalysis {
    const NAME: &'static str = "event_analysis";
    const SUMMARY: &'static str = "Cluster events: filter, group, sort";
    const DESCRIPTION: &'static str = "\
Returns the cluster events (failed scheduling, probes, kills, scaling, …) that match the
conditions, or counts them by group. Each event counts once, although the cluster reports it in
two API versions. `time` is when it last occurred, `times` how often it had occurred when it was
reported, `type` is Warning or Normal. Rows are in time order.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"filters": {"type": "Warning"}, "group_by": "reason"}"#,
        r#"{"entity": "shop/Pod/*", "filters": {"reason": "Killing,Unhealthy"}, "sort": "-time"}"#,
    ];
    type Row<'s> = Event<'s>;

    fn columns<'s>(table: Table<'s, Event<'s>>) -> Table<'s, Event<'s>> {
        let kind = |warning| if warning { "Warning" } else { "Normal" };
        let table = table.column("time", Kind::Time, |row| Cell::Time(row.event.at));
        about(table, |row| Some(&row.event.entity), |_| "")
            .column("workload", Kind::Text, |row| row.workload.map(EntityId::as_str).into())
            .hidden()
            .column("reason", Kind::Text, |row| Cell::text(&row.event.reason))
            .column("type", Kind::Text, move |row| Cell::text(kind(row.event.is_warning)))
            .column("message", Kind::Text, |row| Cell::text(&row.event.message))
            .column("times", Kind::Number, |row| Cell::Count(row.event.count))
            .column("first_time", Kind::Time, |row| Cell::Time(row.event.first_at))
            .hidden()
            .column("component", Kind::Text, |row| Cell::text(&row.event.component))
            .column("node", Kind::Text, |row| Cell::text(&row.event.host))
            .hidden()
    }

    fn rows<'s>(&self, toolbox: &'s Toolbox, query: &Query) -> Result<Vec<Event<'s>>, ToolError> {
        let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
        let chosen = Chosen::new(|| entities::known(snapshot, graph), query.entity.as_deref())?;
        let events = snapshot.events.iter();
        let events = events.filter(|event| chosen.fits(&event.entity) && query.covers(event.at));
        let row =
            |event: &'s EventRecord| Event { event, workload: graph.workload_of(&event.entity) };
        Ok(events.map(row).collect())
    }
}
