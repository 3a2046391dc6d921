//! `alert_summary`: which alerts there were, on what, from when, until when.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::{EntityId, Timestamp};
use serde::Deserialize;

use super::Records;
use crate::evidence::{entity_of, reason_to_ignore};
use crate::names;
use crate::read::AlertRecord;
use crate::snapshot::Snapshot;
use crate::tools::entities::{self, Chosen};
use crate::tools::query::{Cell, Kind, Length, Query, Table, near};
use crate::tools::{ToolError, Toolbox};

/// Alerts, one row per alert, entity, severity and state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlertSummary {
    /// Only alerts in this state: firing or pending.
    pub state: Option<String>,
    /// Only alerts that were seen for at least this long, such as `5m`.
    pub min_duration: Option<Length>,
}

/// The dumps of one alert on one entity, of one severity, in one state.
pub(crate) struct Alert<'s> {
    entity: Option<EntityId>,
    latest: &'s AlertRecord,
    active_since: Timestamp,
    first_seen: Timestamp,
    occurrences: usize,
    activations: usize,
    max_value: Option<f64>,
}

impl<'s> Alert<'s> {
    fn new(entity: Option<EntityId>, records: &[&'s AlertRecord]) -> Option<Self> {
        let latest = *records.iter().max_by_key(|record| seen(record))?;
        let first_seen = records.iter().map(|record| seen(record)).min()?;
        let activations: BTreeSet<Timestamp> = records.iter().map(|r| r.active_at).collect();
        let dumps: BTreeSet<&str> = records.iter().map(|record| record.file.as_str()).collect();
        Some(Self {
            entity,
            latest,
            active_since: activations.first().copied().unwrap_or(first_seen),
            first_seen,
            occurrences: dumps.len(),
            activations: activations.len(),
            max_value: records.iter().filter_map(|record| record.value).max_by(f64::total_cmp),
        })
    }

    fn minutes(&self) -> f64 {
        let length = seen(self.latest).duration_since(self.first_seen).as_secs_f64() / 60.0;
        (length * 10.0).round() / 10.0
    }
}

/// When a dump showed an alert.
fn seen(record: &AlertRecord) -> Timestamp {
    record.seen_at.unwrap_or(record.active_at)
}

impl Records for AlertSummary {
    const NAME: &'static str = "alert_summary";
    const SUMMARY: &'static str = "Which alerts were active, on which entities, and when";
    const DESCRIPTION: &'static str = "\
One row per alert, entity, severity and state: when it became active (the earliest start), the
first and the last dump that show it, for how many minutes, in how many dumps (`occurrences`), and
how often it was activated. `ignored` says why an investigation disregards an alert, for example
because it is about the monitoring itself. Rows are sorted by `first_seen`.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"state": "firing", "filters": {"ignored": ""}}"#,
        r#"{"min_duration": "10m", "sort": "-minutes"}"#,
    ];
    const OWN: &'static [&'static str] = &["state", "min_duration"];
    type Row<'s> = Alert<'s>;

    fn columns<'s>(table: Table<'s, Alert<'s>>) -> Table<'s, Alert<'s>> {
        table
            .column("alert", Kind::Text, |row| Cell::text(&row.latest.name))
            .column("entity", Kind::Text, |row| row.entity.as_ref().map(EntityId::as_str).into())
            .column("namespace", Kind::Text, |row| {
                let of_entity = row.entity.as_ref().and_then(names::namespace_of);
                Cell::text(of_entity.unwrap_or_else(|| row.latest.label("namespace")))
            })
            .hidden()
            .column("severity", Kind::Text, |row| Cell::text(row.latest.label("severity")))
            .column("state", Kind::Text, |row| Cell::text(&row.latest.state))
            .column("active_since", Kind::Time, |row| Cell::Time(row.active_since))
            .column("first_seen", Kind::Time, |row| Cell::Time(row.first_seen))
            .column("last_seen", Kind::Time, |row| Cell::Time(seen(row.latest)))
            .column("minutes", Kind::Number, |row| Cell::Number(row.minutes()))
            .column("occurrences", Kind::Number, |row| Cell::count(row.occurrences))
            .column("activations", Kind::Number, |row| Cell::count(row.activations))
            .column("max_value", Kind::Number, |row| row.max_value.into())
            .hidden()
            .column("ignored", Kind::Text, |row| reason_to_ignore(row.latest).into())
            .column("description", Kind::Text, |row| Cell::text(&row.latest.description))
    }

    fn rows<'s>(&self, toolbox: &'s Toolbox, query: &Query) -> Result<Vec<Alert<'s>>, ToolError> {
        let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
        let state = self.state.as_deref();
        if let Some(state) = state {
            check_state(snapshot, state)?;
        }
        let mut groups: BTreeMap<_, Vec<&AlertRecord>> = BTreeMap::new();
        for record in &snapshot.alerts {
            if state.is_none_or(|state| state == record.state) && query.covers(seen(record)) {
                let entity = entity_of(record, graph);
                let key = (&record.name, entity, record.label("severity"), &record.state);
                groups.entry(key).or_default().push(record);
            }
        }
        let groups = groups.into_iter();
        let mut alerts: Vec<Alert<'_>> = groups
            .filter_map(|((_, entity, _, _), records)| Alert::new(entity, &records))
            .collect();
        let known = || {
            let known = entities::known(snapshot, graph).into_iter();
            known.chain(alerts.iter().filter_map(|alert| alert.entity.as_ref())).collect()
        };
        let chosen = Chosen::new(known, query.entity.as_deref())?;
        let shortest = self.min_duration.unwrap_or_default().seconds();
        let is_long = |alert: &Alert<'_>| alert.minutes() * 60.0 >= shortest;
        alerts.retain(|alert| chosen.has(alert.entity.as_ref()) && is_long(alert));
        alerts.sort_by_key(|alert| alert.first_seen);
        Ok(alerts)
    }
}

/// Refuses a state that no alert has.
fn check_state(snapshot: &Snapshot, state: &str) -> Result<(), ToolError> {
    let mut states: BTreeSet<&str> =
        snapshot.alerts.iter().map(|alert| alert.state.as_str()).collect();
    states.extend(["firing", "pending"]);
    if states.contains(state) {
        return Ok(());
    }
    let hint = near(state, states.iter().copied(), "states");
    Err(ToolError::argument("state", format!("no alert is in the state {state:?}"), hint))
}
