//! Tables of what bundles record: alerts, events, changes.

use std::borrow::Cow;

use eog_core::evidence::{ChangeDetail, Peer};
use eog_core::{Anomaly, EntityId, Finding, Timestamp};
use eog_evidence::EventRecord;

use super::{BundleTool, BundleToolbox, word};
use crate::tools::entities::Chosen;
use crate::tools::query::{Cell, Kind, Page, Table, TimeRange};
use crate::tools::records::{SHARED, about};
use crate::tools::{AlertSummary, EventAnalysis, SpecChangeAnalysis, TableQuery, ToolError};

/// Adds the columns of another entity that a record names.
pub(super) fn peer<'t, R: 't>(table: Table<'t, R>, peer: fn(&R) -> Option<&Peer>) -> Table<'t, R> {
    table
        .column("peer", Kind::Text, move |row| peer(row).map(|it| it.entity.as_str()).into())
        .column("peer_role", Kind::Text, move |row| {
            peer(row).map_or(Cell::Nothing, |it| word(&it.role))
        })
}

fn last_active(alert: &Anomaly) -> Timestamp {
    alert.onsets().chain(alert.last_seen).max().unwrap_or(alert.onset)
}

/// Alerts, one row for each.
impl BundleTool for TableQuery<AlertSummary> {
    const ARGUMENTS: &'static [&'static str] = &SHARED;

    fn of_bundle(&self, toolbox: &BundleToolbox<'_>) -> Result<Page, ToolError> {
        let query = &self.query;
        let chosen = Chosen::new(|| toolbox.entities(), query.entity.as_deref())?;
        let mut rows: Vec<&Anomaly> = toolbox.incident.anomalies.iter().collect();
        rows.retain(|alert| {
            let in_time = |window: TimeRange| window.overlaps(alert.onset, last_active(alert));
            chosen.fits(&alert.entity) && query.window.is_none_or(in_time)
        });
        rows.sort_by_key(|alert| (alert.onset, &alert.name, &alert.entity));
        let table = Table::new(rows).column("alert", Kind::Text, |row| Cell::text(&row.name));
        let table = about(table, |row| Some(&row.entity), |_| "")
            .column("signal", Kind::Text, |row| word(&row.signal))
            .column("severity", Kind::Text, |row| Cell::text(&row.severity))
            .column("active_since", Kind::Time, |row| Cell::Time(row.onset))
            .column("last_seen", Kind::Time, |row| row.last_seen.into())
            .column("activations", Kind::Number, |row| Cell::count(row.onsets().count()))
            .column("description", Kind::Text, |row| Cell::text(&row.description));
        query.run(&table)
    }
}

/// Events, one row for each.
impl BundleTool for TableQuery<EventAnalysis> {
    const ARGUMENTS: &'static [&'static str] = &SHARED;

    fn of_bundle(&self, toolbox: &BundleToolbox<'_>) -> Result<Page, ToolError> {
        let query = &self.query;
        let chosen = Chosen::new(|| toolbox.entities(), query.entity.as_deref())?;
        let mut rows: Vec<&EventRecord> = toolbox.bundle().events().collect();
        rows.retain(|event| chosen.fits(&event.entity) && query.covers(event.time));
        rows.sort_by_key(|event| (event.time, &event.entity, &event.reason));
        let table = Table::new(rows).column("time", Kind::Time, |row| Cell::Time(row.time));
        let table = about(table, |row| Some(&row.entity), |_| "")
            .column("reason", Kind::Text, |row| Cell::text(&row.reason))
            .column("signal", Kind::Text, |row| word(&row.signal))
            .column("message", Kind::Text, |row| Cell::text(&row.message));
        query.run(&peer(table, |row| row.peer.as_ref()))
    }
}

struct Change<'b> {
    finding: &'b Finding,
    detail: &'b ChangeDetail,
}

impl Change<'_> {
    fn kind(&self) -> &'static str {
        match (&self.detail.old, &self.detail.new) {
            (None, Some(_)) => "added",
            (Some(_), None) => "removed",
            _ => "changed",
        }
    }

    fn entity(&self) -> Option<&EntityId> {
        Some(&self.finding.entity)
    }
}

/// An empty value is a value here, and differs from none.
fn value(text: Option<&String>) -> Cell<'_> {
    text.map_or(Cell::Nothing, |text| Cell::Text(Cow::Borrowed(text)))
}

/// Changes, one row for each.
impl BundleTool for TableQuery<SpecChangeAnalysis> {
    const ARGUMENTS: &'static [&'static str] = &SHARED;

    fn of_bundle(&self, toolbox: &BundleToolbox<'_>) -> Result<Page, ToolError> {
        let query = &self.query;
        let chosen = Chosen::new(|| toolbox.entities(), query.entity.as_deref())?;
        let changes = toolbox.incident.changes.iter();
        let mut rows: Vec<Change<'_>> = changes
            .filter(|it| chosen.fits(&it.entity) && query.covers(it.time.start()))
            .filter_map(|finding| Some(Change { finding, detail: finding.change.as_ref()? }))
            .collect();
        rows.sort_by_key(|row| (row.finding.time.start(), &row.finding.entity, &row.detail.path));
        let table =
            Table::new(rows).column("time", Kind::Time, |row| Cell::Time(row.finding.time.start()));
        let table = about(table, Change::entity, |_| "")
            .column("type", Kind::Text, |row| Cell::text(row.kind()))
            .column("signal", Kind::Text, |row| word(&row.finding.signal))
            .column("path", Kind::Text, |row| Cell::text(&row.detail.path))
            .column("old", Kind::Text, |row| value(row.detail.old.as_ref()))
            .column("new", Kind::Text, |row| value(row.detail.new.as_ref()))
            .column("description", Kind::Text, |row| Cell::text(&row.finding.excerpt));
        query.run(&table)
    }
}
