//! `alert_summary`: which alerts there were, on what, from when, until when.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::{EntityId, Timestamp};
use serde::Deserialize;

use super::info::Tool;
use super::query::{Cell, Column, Filters, Kind, Length, Names, Page, Query, Table, TimeRange};
use super::{ToolError, Toolbox, entities};
use crate::evidence::{entity_of, reason_to_ignore};
use crate::graph::OperationalGraph;
use crate::names;
use crate::read::AlertRecord;
use crate::snapshot::Snapshot;

/// Arguments of [`alert_summary()`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlertSummary {
    /// Whose alerts: an entity such as `shop/Service/cart`, an end of its name that no other has,
    /// or a pattern such as `shop/*`.
    pub entity: Option<String>,
    /// Only alerts in this state: firing or pending.
    pub state: Option<String>,
    /// Only alerts that were seen for at least so long, such as `5m`.
    pub min_duration: Option<Length>,
    /// Only what the dumps of this window show.
    pub window: Option<TimeRange>,
    /// Conditions on columns: alert, entity, namespace, severity, state, active_since, first_seen,
    /// last_seen, minutes, occurrences, activations, max_value, ignored, description.
    pub filters: Filters,
    /// Columns by which rows are put together; each group has a count.
    pub group_by: Names,
    /// Values of each group: `count`, or a function of a column such as `sum(occurrences)`.
    pub aggregates: Names,
    /// Columns to show.
    pub columns: Names,
    /// Columns to sort by, with a minus before those that fall. Otherwise the earliest come first.
    pub sort: Names,
    /// Most rows: 50 unless given, at most 1000; 0 is the most.
    pub limit: Option<usize>,
    /// How many rows to pass over.
    pub offset: usize,
}

/// One row for each alert, entity, severity and state.
///
/// # Errors
/// [`ToolError::Argument`] for unknown entities, states and columns, and for conditions that do
/// not fit.
pub fn alert_summary(
    snapshot: &Snapshot,
    graph: &OperationalGraph,
    arguments: &AlertSummary,
) -> Result<Page, ToolError> {
    if let Some(state) = arguments.state.as_deref() {
        check_state(snapshot, state)?;
    }
    let mut groups: BTreeMap<Key<'_>, Vec<&AlertRecord>> = BTreeMap::new();
    for record in &snapshot.alerts {
        let seen = record.seen_at.unwrap_or(record.active_at);
        let in_window = arguments.window.is_none_or(|window| window.contains(seen));
        let in_state = arguments.state.as_deref().is_none_or(|state| state == record.state);
        if in_window && in_state {
            let entity = entity_of(record, graph);
            let key = (record.name.as_str(), entity, record.label("severity"), &*record.state);
            groups.entry(key).or_default().push(record);
        }
    }
    let mut alerts: Vec<Alert<'_>> = groups.into_iter().map(Alert::new).collect();
    if let Some(text) = &arguments.entity {
        let mut known = entities::known(snapshot, graph);
        known.extend(alerts.iter().filter_map(|alert| alert.entity.as_ref()));
        let chosen = entities::chosen(&known, "entity", text)?;
        alerts.retain(|alert| {
            alert.entity.as_ref().is_some_and(|entity| chosen.fits(entity.as_str()))
        });
    }
    let shortest = arguments.min_duration.unwrap_or_default().seconds();
    alerts.retain(|alert| alert.minutes() * 60.0 >= shortest);
    alerts.sort_by_key(|alert| alert.first_seen);
    let query = Query {
        window: None,
        filters: &arguments.filters,
        group_by: &arguments.group_by,
        aggregates: &arguments.aggregates,
        columns: &arguments.columns,
        sort: &arguments.sort,
        limit: arguments.limit,
        offset: arguments.offset,
    };
    query.run(&Alerts(alerts))
}

/// Refuses a state that no alert has.
fn check_state(snapshot: &Snapshot, state: &str) -> Result<(), ToolError> {
    let mut states: BTreeSet<&str> =
        snapshot.alerts.iter().map(|alert| alert.state.as_str()).collect();
    states.extend(["firing", "pending"]);
    if states.contains(state) {
        return Ok(());
    }
    let reason = format!("no alert is in the state {state:?}");
    Err(ToolError::argument(
        "state",
        reason,
        super::query::near(state, states.iter().copied(), "states"),
    ))
}

impl Tool for AlertSummary {
    const NAME: &'static str = "alert_summary";
    const SUMMARY: &'static str = "Which alerts there were, on what, from when, until when";
    const DESCRIPTION: &'static str = "\
One row for each alert, entity, severity and state: since when it is active (the earliest start),
from which dump to which it was seen, for how many minutes, in how many dumps (occurrences) and how
often it started anew (activations). `ignored` says why an investigation passes over an alert, such
as one of the platform about itself.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"state": "firing", "filters": {"ignored": ""}}"#,
        r#"{"min_duration": "10m", "sort": "-minutes"}"#,
    ];
    type Answer = Page;

    fn run(&self, toolbox: &Toolbox) -> Result<Page, ToolError> {
        alert_summary(toolbox.snapshot(), toolbox.graph(), self)
    }
}

/// Name, entity, severity and state.
type Key<'s> = (&'s str, Option<EntityId>, &'s str, &'s str);

struct Alert<'s> {
    name: &'s str,
    entity: Option<EntityId>,
    severity: &'s str,
    state: &'s str,
    namespace: &'s str,
    active_since: Timestamp,
    first_seen: Timestamp,
    last_seen: Timestamp,
    occurrences: usize,
    activations: usize,
    max_value: Option<f64>,
    ignored: &'static str,
    description: &'s str,
}

impl<'s> Alert<'s> {
    fn new(((name, entity, severity, state), records): (Key<'s>, Vec<&'s AlertRecord>)) -> Self {
        let seen = |record: &&AlertRecord| record.seen_at.unwrap_or(record.active_at);
        let activations: BTreeSet<Timestamp> = records.iter().map(|r| r.active_at).collect();
        let dumps: BTreeSet<&str> = records.iter().map(|record| record.file.as_str()).collect();
        let latest = records.iter().max_by_key(|record| seen(record));
        let first_seen = records.iter().map(seen).min().unwrap_or_default();
        Self {
            name,
            entity,
            severity,
            state,
            namespace: latest.map(|record| record.label("namespace")).unwrap_or_default(),
            active_since: activations.first().copied().unwrap_or(first_seen),
            first_seen,
            last_seen: records.iter().map(seen).max().unwrap_or(first_seen),
            occurrences: dumps.len(),
            activations: activations.len(),
            max_value: records.iter().filter_map(|record| record.value).max_by(f64::total_cmp),
            ignored: latest.and_then(|record| reason_to_ignore(record)).unwrap_or_default(),
            description: latest.map(|record| record.description.as_str()).unwrap_or_default(),
        }
    }

    fn minutes(&self) -> f64 {
        let length = self.last_seen.duration_since(self.first_seen).as_secs_f64() / 60.0;
        (length * 10.0).round() / 10.0
    }
}

struct Alerts<'s>(Vec<Alert<'s>>);

static COLUMNS: [Column; 14] = [
    Column::new("alert", Kind::Text),
    Column::new("entity", Kind::Text),
    Column::hidden("namespace", Kind::Text),
    Column::new("severity", Kind::Text),
    Column::new("state", Kind::Text),
    Column::new("active_since", Kind::Time),
    Column::new("first_seen", Kind::Time),
    Column::new("last_seen", Kind::Time),
    Column::new("minutes", Kind::Number),
    Column::new("occurrences", Kind::Number),
    Column::new("activations", Kind::Number),
    Column::hidden("max_value", Kind::Number),
    Column::new("ignored", Kind::Text),
    Column::new("description", Kind::Text),
];

impl Table for Alerts<'_> {
    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn rows(&self) -> usize {
        self.0.len()
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let alert = &self.0[row];
        let entity = alert.entity.as_ref();
        match COLUMNS[column].name.as_ref() {
            "alert" => Cell::text(alert.name),
            "entity" => entity.map_or(Cell::Nothing, |entity| Cell::text(entity.as_str())),
            "namespace" => {
                let of_entity = entity.and_then(names::namespace_of);
                Cell::text(of_entity.unwrap_or(alert.namespace))
            }
            "severity" => Cell::text(alert.severity),
            "state" => Cell::text(alert.state),
            "active_since" => Cell::Time(alert.active_since),
            "first_seen" => Cell::Time(alert.first_seen),
            "last_seen" => Cell::Time(alert.last_seen),
            "minutes" => Cell::Number(alert.minutes()),
            "occurrences" => Cell::count(alert.occurrences),
            "activations" => Cell::count(alert.activations),
            "max_value" => alert.max_value.map_or(Cell::Nothing, Cell::Number),
            "ignored" => Cell::text(alert.ignored),
            _ => Cell::text(alert.description),
        }
    }

    fn time_column(&self) -> Option<usize> {
        None
    }
}
