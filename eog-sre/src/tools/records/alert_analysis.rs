//! `alert_analysis`: every alert in every dump, chosen, grouped and sorted.

use std::collections::BTreeSet;

use eog_core::{EntityId, Timestamp};
use serde::Deserialize;

use super::{Records, about};
use crate::evidence::entity_of;
use crate::read::AlertRecord;
use crate::tools::entities::{self, Chosen};
use crate::tools::query::{Cell, Kind, Query, Table};
use crate::tools::{ToolError, Toolbox};

/// Most labels that become columns.
const MAX_LABELS: usize = 200;

/// Alerts, one row per alert and dump.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlertAnalysis {}

pub(crate) struct Seen<'s> {
    alert: &'s AlertRecord,
    entity: Option<EntityId>,
}

impl Seen<'_> {
    fn at(&self) -> Timestamp {
        self.alert.seen_at.unwrap_or(self.alert.active_at)
    }

    fn minutes_active(&self) -> Cell<'_> {
        self.alert.seen_at.map_or(Cell::Nothing, |seen| {
            let minutes = seen.duration_since(self.alert.active_at).as_secs_f64() / 60.0;
            Cell::Number((minutes * 10.0).round() / 10.0)
        })
    }
}

impl Records for AlertAnalysis {
    const NAME: &'static str = "alert_analysis";
    const SUMMARY: &'static str = "Every alert in every dump: filter, group, sort";
    const DESCRIPTION: &'static str = "\
One row per alert and dump: when it was seen, since when it had been active, and its value. Every
label is a column `labels.NAME`, shown on request. Rows are in the order of the dumps. To find out
which alerts there were, use alert_summary, which is shorter.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"filters": {"alert": "*ErrorRate"}, "group_by": "entity", "aggregates": "count, max(value)"}"#,
        r#"{"entity": "shop/Service/cart", "sort": "-seen_at", "limit": 5}"#,
    ];
    type Row<'s> = Seen<'s>;

    fn columns<'s>(table: Table<'s, Seen<'s>>) -> Table<'s, Seen<'s>> {
        let table = table.column("seen_at", Kind::Time, |row| Cell::Time(row.at())).column(
            "alert",
            Kind::Text,
            |row| Cell::text(&row.alert.name),
        );
        about(table, |row| row.entity.as_ref(), |row| row.alert.label("namespace"))
            .column("severity", Kind::Text, |row| Cell::text(row.alert.label("severity")))
            .column("state", Kind::Text, |row| Cell::text(&row.alert.state))
            .column("active_at", Kind::Time, |row| Cell::Time(row.alert.active_at))
            .column("minutes_active", Kind::Number, Seen::minutes_active)
            .column("value", Kind::Number, |row| row.alert.value.into())
            .column("description", Kind::Text, |row| Cell::text(&row.alert.description))
            .column("file", Kind::Text, |row| Cell::text(&row.alert.file))
            .hidden()
    }

    fn more_columns<'s>(table: Table<'s, Seen<'s>>, toolbox: &'s Toolbox) -> Table<'s, Seen<'s>> {
        let labels = toolbox.snapshot().alerts.iter().flat_map(|alert| alert.labels.keys());
        let labels: BTreeSet<&String> = labels.collect();
        labels.into_iter().take(MAX_LABELS).fold(table, |table, label| {
            let name = format!("labels.{label}");
            table.column(name, Kind::Text, |row| Cell::text(row.alert.label(label))).hidden()
        })
    }

    fn rows<'s>(&self, toolbox: &'s Toolbox, query: &Query) -> Result<Vec<Seen<'s>>, ToolError> {
        let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
        let seen = |alert| Seen { alert, entity: entity_of(alert, graph) };
        let mut rows: Vec<Seen<'_>> = snapshot.alerts.iter().map(seen).collect();
        let known = || {
            let known = entities::known(snapshot, graph).into_iter();
            known.chain(rows.iter().filter_map(|row| row.entity.as_ref())).collect()
        };
        let chosen = Chosen::new(known, query.entity.as_deref())?;
        rows.retain(|row| chosen.has(row.entity.as_ref()) && query.covers(row.at()));
        rows.sort_by_key(Seen::at);
        Ok(rows)
    }
}
