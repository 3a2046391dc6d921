//! The incident as a whole, as prompts begin.

use eog_core::{Anomaly, Case, EntityId, Timestamp, Window};
use eog_evidence::mask_text;
use serde::Serialize;

use super::lines::{Clock, cut};

/// Most alerts that the frame of an incident lists.
pub(crate) const MAX_ALERTS: usize = 12;

/// The incident as a whole: the same for every question of an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    alerts: Vec<Anomaly>,
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
        let mut alerts = anomalies.to_vec();
        alerts.sort_by(|a, b| (a.onset, &a.entity, &a.name).cmp(&(b.onset, &b.entity, &b.name)));
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
        let same =
            |listed: &Anomaly| (&listed.entity, &listed.name) == (&alert.entity, &alert.name);
        self.alerts.iter().any(same)
    }

    /// The alerting entities, of the alerts that are listed.
    pub(crate) fn alerting(&self) -> impl Iterator<Item = &EntityId> {
        self.alerts.iter().map(|alert| &alert.entity)
    }

    /// The head of a prompt.
    pub(crate) fn lines(&self, window: Window, clock: &Clock) -> IncidentLines {
        let line = |alert: &Anomaly| AlertLine::new(clock, alert);
        IncidentLines {
            day: clock.day().to_owned(),
            start: clock.show(window.start()),
            end: clock.show_end(window.end()),
            alerts: self.alerts.iter().map(line).collect(),
            more_alerts: self.more,
            request: String::new(),
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
    /// What is asked beside the case; empty where that is nothing.
    pub(crate) request: String,
}

/// One alert.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AlertLine {
    time: String,
    /// When it was last seen; empty where that is not known.
    until: String,
    /// When it became active again.
    again: Vec<String>,
    entity: String,
    name: String,
    /// What it says beyond its name; empty where that is nothing.
    text: String,
}

/// Longest description of an alert, in characters. It stands in every question.
const MAX_DESCRIPTION: usize = 160;

/// Most times at which an alert became active again that its line shows: the first ones.
const MAX_RENEWALS: usize = 3;

impl AlertLine {
    pub(crate) fn new(clock: &Clock, alert: &Anomaly) -> Self {
        let until = alert.last_seen.filter(|last| *last > alert.onset);
        let again = alert.renewed.iter().take(MAX_RENEWALS);
        Self {
            time: clock.show_alert(alert.onset),
            until: until.map(|last| clock.show(last)).unwrap_or_default(),
            again: again.map(|at| clock.show(*at)).collect(),
            entity: alert.entity.to_string(),
            name: alert.name.clone(),
            text: cut(&mask_text(&alert.description), Some(MAX_DESCRIPTION)),
        }
    }
}
