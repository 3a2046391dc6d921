//! The incident as a whole, as prompts begin.

use eog_core::{Anomaly, Case, EntityId, Timestamp, Window};
use serde::Serialize;

use super::lines::Clock;

/// Most alerts that the frame of an incident lists.
pub(crate) const MAX_ALERTS: usize = 12;

/// The incident as a whole: the same for every question of an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    alerts: Vec<(Timestamp, EntityId, String)>,
    more: usize,
    last_onset: Option<Timestamp>,
}

impl Frame {
    /// Nothing is known beyond the packets.
    pub fn unknown() -> Self {
        Self { alerts: Vec::new(), more: 0, last_onset: None }
    }

    /// The alerts of a case; if there are many, the first ones.
    pub fn of(case: &Case) -> Self {
        Self::of_alerts(&case.anomalies)
    }

    /// These alerts; if there are many, the first ones.
    pub(crate) fn of_alerts(anomalies: &[Anomaly]) -> Self {
        let mut alerts: Vec<_> = anomalies
            .iter()
            .map(|alert| (alert.onset, alert.entity.clone(), alert.name.clone()))
            .collect();
        alerts.sort();
        let more = alerts.len().saturating_sub(MAX_ALERTS);
        alerts.truncate(MAX_ALERTS);
        let onsets = anomalies.iter().flat_map(Anomaly::onsets);
        Self { alerts, more, last_onset: onsets.max() }
    }

    /// The last time any alert became active, if alerts are known.
    pub(crate) fn last_onset(&self) -> Option<Timestamp> {
        self.last_onset
    }

    /// Whether an alert is among those that are listed.
    pub(crate) fn lists(&self, alert: &Anomaly) -> bool {
        let same = |(_, entity, name): &(Timestamp, EntityId, String)| {
            (entity, name) == (&alert.entity, &alert.name)
        };
        self.alerts.iter().any(same)
    }

    /// The head of a prompt.
    pub(crate) fn lines(&self, window: Window, clock: &Clock) -> IncidentLines {
        let line = |(onset, entity, name): &(Timestamp, EntityId, String)| {
            AlertLine::new(clock, *onset, entity, name)
        };
        IncidentLines {
            day: clock.day().to_owned(),
            start: clock.show(window.start()),
            end: clock.show_end(window.end()),
            alerts: self.alerts.iter().map(line).collect(),
            more_alerts: self.more,
        }
    }
}

/// The incident as templates show it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct IncidentLines {
    day: String,
    start: String,
    end: String,
    alerts: Vec<AlertLine>,
    more_alerts: usize,
}

/// One alert.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AlertLine {
    time: String,
    entity: String,
    name: String,
}

impl AlertLine {
    pub(crate) fn new(clock: &Clock, onset: Timestamp, entity: &EntityId, name: &str) -> Self {
        let time = clock.show(onset);
        Self { time, entity: entity.to_string(), name: name.to_owned() }
    }
}
