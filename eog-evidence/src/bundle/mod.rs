//! The incident bundle: a domain-neutral directory of JSON and CSV files.

mod at_work;
mod breaks;
mod context;
mod error;
mod files;
mod inferred;
mod intake;
mod limits;
mod manifest;
mod reader;
mod schema;
mod sibling;
mod silent_entities;
mod source;
mod strangers;
mod table;
#[cfg(test)]
mod tests;
mod time;
mod writer;

use std::collections::{BTreeMap, BTreeSet};

use eog_core::incident::Unusable;
use eog_core::{Anomaly, EntityId, Finding, Topology, Window};

pub use context::{BundleContext, FINDINGS_PER_PAGE};
pub use error::{BundleError, BundleWriteError};
pub use limits::{
    MAX_BORROWED, MAX_CSV_BYTES, MAX_FAILURES, MAX_FIELD_BYTES, MAX_JSON_BYTES, MAX_LISTED,
    MAX_ROWS,
};
pub use manifest::{
    BUNDLE_FORMAT, BUNDLE_VERSION, ChangeRecord, Manifest, ManifestEdge, ManifestTopology,
};
pub use schema::bundle_schemas;
pub use sibling::SiblingName;
pub use source::BundleSource;
pub use strangers::NO_PLACE_TO_START;
pub use writer::BundleWriter;

use crate::events::{EventRecord, event_findings, is_failure};
use crate::incident::Incident;
use crate::intervals::Intervals;
use crate::logs::LogPatterns;
use crate::series::{MIN_BASELINE, Series};
use crate::shift::MIN_RUN;
use crate::spans::{SpanRecord, span_series};
use crate::states::{StateHistory, StateRecord};
use crate::text::{counted, shorten};
use intake::{ByEntity, Intake};
use table::Complaints;

/// An incident bundle in memory. `docs/bundle.md` describes the directory it is read from.
///
/// ```no_run
/// use eog_evidence::{Bundle, BundleContext, open_case};
/// let bundle = Bundle::read("examples/flash-sale".as_ref())?;
/// let case = open_case(&bundle.incident(), None)?;
/// let context = BundleContext::new(bundle);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    name: String,
    window: Option<Window>,
    baseline: Intervals,
    topology: Topology,
    anomalies: Vec<Anomaly>,
    ignored: Vec<String>,
    changes: Vec<Finding>,
    changes_recorded: Option<Window>,
    telemetry: ByEntity,
    states: BTreeMap<EntityId, Vec<StateRecord>>,
    observed: Option<Window>,
    warnings: Vec<String>,
    unusable: Vec<Unusable>,
}

impl Bundle {
    /// The files of a bundle that are read. Only `bundle.json` must be there.
    pub const FILES: [&'static str; 8] = [
        "bundle.json",
        "alerts.json",
        "changes.json",
        files::METRICS.name,
        files::EVENTS.name,
        files::LOGS.name,
        files::SPANS.name,
        files::STATES.name,
    ];

    /// What the incident is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All that was measured, by entity.
    pub fn series(&self) -> impl Iterator<Item = &Series> {
        self.telemetry.values().flat_map(|telemetry| telemetry.series.values())
    }

    /// All traced requests and calls, by entity.
    pub fn spans(&self) -> impl Iterator<Item = &SpanRecord> {
        self.telemetry.values().flat_map(|telemetry| &telemetry.spans)
    }

    /// All events, by entity.
    pub fn events(&self) -> impl Iterator<Item = &EventRecord> {
        self.telemetry.values().flat_map(|telemetry| &telemetry.events)
    }

    /// What log lines say, by entity. Lines themselves are not kept.
    pub fn logs(&self) -> impl Iterator<Item = &LogPatterns> {
        self.telemetry.values().map(|telemetry| &telemetry.logs)
    }

    /// What state an object was in over time, and at the end.
    pub fn states(&self, entity: &EntityId) -> StateHistory<'_> {
        StateHistory::new(self.states.get(entity).map_or(&[], Vec::as_slice))
    }

    /// All states of objects, by entity and time.
    pub fn all_states(&self) -> impl Iterator<Item = &StateRecord> {
        self.states.values().flatten()
    }

    /// Every entity of which anything was recorded.
    pub fn recorded(&self) -> impl Iterator<Item = &EntityId> {
        self.telemetry.keys()
    }

    /// What the start of an investigation needs.
    pub fn incident(&self) -> Incident {
        let mut warnings = self.warnings.clone();
        let events = self.telemetry.values().flat_map(|telemetry| &telemetry.events);
        let mut failures: Vec<Finding> = events
            .filter(|event| is_failure(event))
            .flat_map(|event| event_findings(std::slice::from_ref(event), None, "events.csv"))
            .collect();
        failures.sort_by(|a, b| (a.time.start(), a.id()).cmp(&(b.time.start(), b.id())));
        failures.dedup_by(|a, b| a.id() == b.id());
        if failures.len() > MAX_FAILURES {
            warnings.push(format!(
                "events.csv: {} failures, the first {MAX_FAILURES} are used to find the start",
                failures.len()
            ));
            failures.truncate(MAX_FAILURES);
        }
        warnings.extend(self.too_short());
        Incident {
            name: self.name.clone(),
            topology: self.topology.clone(),
            anomalies: self.anomalies.clone(),
            ignored: self.ignored.clone(),
            changes: self.changes.clone(),
            consequences: BTreeSet::new(),
            changes_recorded: self.changes_recorded,
            failures,
            recorded: self.recorded().cloned().collect(),
            observed: self.observed,
            window: self.window,
            warnings,
            unusable: self.unusable.clone(),
        }
    }

    /// That no series is long enough to be compared, where there are any.
    fn too_short(&self) -> Option<String> {
        let telemetry = || self.telemetry.values();
        let measured = telemetry().flat_map(|one| one.series.values());
        let measured = measured.map(|series| series.points.len());
        let traced = telemetry().flat_map(|one| span_series(&one.spans));
        let longest = measured.chain(traced.map(|series| series.points.len())).max()?;
        let needed = MIN_BASELINE + MIN_RUN;
        (longest < needed).then(|| {
            format!(
                "the recording is too short to be compared: no series has more than {}; at least \
                 {MIN_BASELINE} before the incident and {MIN_RUN} in it are needed",
                counted(longest, "point")
            )
        })
    }

    fn assemble(
        manifest: Manifest,
        alerts: Vec<Anomaly>,
        changes: &[ChangeRecord],
        mut intake: Intake,
        complaints: Complaints,
    ) -> Self {
        let Complaints { mut warnings, unusable } = complaints;
        let mut topology = manifest.topology.to_topology();
        let named = alerts.iter().map(|alert| ("alerts.json: alert", &*alert.name, &alert.entity));
        let changed = changes.iter().map(|it| ("changes.json: change of", &*it.path, &it.entity));
        for (what, name, entity) in named.chain(changed) {
            warnings.extend(strangers::hint(&topology, what, name, entity));
        }
        warnings.extend(strangers::no_place(&topology, &alerts, &intake));
        let recorded = manifest.changes_recorded;
        warnings.extend(recorded.and_then(|recorded| outside(recorded, changes)));
        let noise = |alert: &Anomaly| manifest.ignore_alerts.contains(&alert.name);
        let (ignored, anomalies): (Vec<Anomaly>, Vec<Anomaly>) =
            alerts.into_iter().partition(noise);
        let ignored = ignored
            .iter()
            .map(|alert| format!("{} on {}: listed in ignore_alerts", alert.name, alert.entity))
            .collect();
        let states = intake.take_states();
        let (telemetry, observed) = intake.finish();
        warnings.extend(inferred::calls(&mut topology, &telemetry));
        let mut changes: Vec<Finding> = changes.iter().map(ChangeRecord::to_finding).collect();
        changes.sort_by(|a, b| (a.time.start(), a.id()).cmp(&(b.time.start(), b.id())));
        changes.dedup_by(|a, b| a.id() == b.id());
        for (entity, telemetry) in &telemetry {
            let beyond = telemetry.logs.beyond();
            if beyond > 0 {
                warnings.push(format!(
                    "logs.csv: {beyond} lines of {entity} left out, it has too many patterns"
                ));
            }
        }
        Self {
            name: manifest.name,
            window: manifest.window,
            baseline: manifest.baseline,
            topology,
            anomalies,
            ignored,
            changes,
            changes_recorded: recorded,
            telemetry,
            states,
            observed,
            warnings,
            unusable,
        }
    }
}

/// That changes lie outside the time over which they are said to have been recorded. They count all
/// the same: more changes in less time make a coincidence more likely, which is the safe side.
fn outside(recorded: Window, changes: &[ChangeRecord]) -> Option<String> {
    let is_outside =
        |change: &&ChangeRecord| change.time < recorded.start() || change.time > recorded.end();
    let first = changes.iter().filter(is_outside).min_by_key(|change| change.time)?;
    let count = changes.iter().filter(is_outside).count();
    let (path, entity) = (shorten(&first.path, 80), &first.entity);
    Some(format!(
        "changes.json: {} outside changes_recorded of bundle.json, the first on {entity} at {}: \
         {path}; correct the time over which changes were recorded",
        counted(count, "change"),
        first.time,
    ))
}
