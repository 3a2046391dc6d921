//! From a snapshot to what the start of an investigation needs.

use eog_core::{EvidenceKind, Finding, Signal};
use eog_evidence::Incident;

use crate::evidence::{
    Alerts, alert_findings, change_findings, event_findings, mark_demand, status_findings,
};
use crate::graph::OperationalGraph;
use crate::snapshot::Snapshot;

/// Everything about a snapshot that does not depend on a window.
pub(crate) struct Records {
    pub(crate) alerts: Alerts,
    pub(crate) changes: Vec<Finding>,
    pub(crate) events: Vec<Finding>,
}

impl Records {
    pub(crate) fn new(snapshot: &Snapshot, graph: &OperationalGraph) -> Self {
        let changes = mark_demand(change_findings(&snapshot.objects), snapshot, graph);
        let mut events = event_findings(&snapshot.events);
        events.extend(status_findings(&snapshot.objects));
        events.sort_by(|a, b| (a.time.start(), a.id()).cmp(&(b.time.start(), b.id())));
        Self { alerts: alert_findings(&snapshot.alerts, graph), changes, events }
    }
}

impl Snapshot {
    /// The incident in the snapshot, over the whole recording: topology, anomalies, all changes, and
    /// all failures.
    pub fn incident(&self, graph: &OperationalGraph) -> Incident {
        let records = Records::new(self, graph);
        let is_failure = |finding: &Finding| {
            finding.kind == EvidenceKind::Event
                && matches!(finding.signal, Signal::Availability | Signal::Exhaustion)
        };
        let mut topology = graph.topology().clone();
        for anomaly in &records.alerts.anomalies {
            topology.add_entity(anomaly.entity.clone());
        }
        let warnings = self.warnings().iter().chain(graph.warnings());
        Incident {
            name: self.name.clone(),
            topology,
            anomalies: records.alerts.anomalies,
            ignored: records.alerts.ignored,
            changes: records.changes,
            failures: records.events.into_iter().filter(is_failure).collect(),
            observed: self.observed(),
            window: None,
            warnings: warnings.cloned().collect(),
        }
    }
}
