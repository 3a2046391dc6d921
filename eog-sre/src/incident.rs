//! From a snapshot to what the start of an investigation needs.

use std::sync::Arc;

use eog_core::evidence::Signal;
use eog_core::{EvidenceKind, Finding};
use eog_evidence::{Incident, NO_PLACE_TO_START};

use crate::evidence::{
    alert_findings, change_findings, consequences, event_findings, mark_demand, status_findings,
    strangers,
};
use crate::facts::{Alerts, Facts};
use crate::graph::OperationalGraph;
use crate::snapshot::Snapshot;

impl Snapshot {
    /// The incident that the snapshot shows, over the whole recording: the topology, what is
    /// abnormal, every change, and every failure.
    pub fn incident(&self, graph: &OperationalGraph) -> Incident {
        let facts = self.facts(graph);
        let Alerts { anomalies, ignored, .. } = &facts.alerts;
        let is_failure = |finding: &&Finding| {
            finding.kind == EvidenceKind::Event
                && matches!(finding.signal, Signal::Availability | Signal::Exhaustion)
        };
        let mut topology = graph.topology().clone();
        for anomaly in anomalies {
            topology.add_entity(anomaly.entity.clone());
        }
        let strangers = strangers(&self.alerts, graph);
        let has_place = anomalies.iter().any(|it| graph.topology().contains(&it.entity));
        let is_anything_known = graph.topology().entities().len() > 0;
        let no_place = (!anomalies.is_empty() && !has_place && is_anything_known)
            .then(|| NO_PLACE_TO_START.to_owned());
        let warnings = self.warnings().iter().chain(graph.warnings()).chain(&strangers);
        let warnings = warnings.chain(&no_place);
        Incident {
            name: self.name.clone(),
            topology,
            anomalies: anomalies.clone(),
            ignored: ignored.clone(),
            changes: facts.changes.clone(),
            consequences: consequences(&facts.changes, &self.objects),
            changes_recorded: self.objects.recorded(),
            failures: facts.events.iter().filter(is_failure).cloned().collect(),
            recorded: Vec::new(),
            observed: self.observed(),
            window: None,
            warnings: warnings.cloned().collect(),
            unusable: self.unusable().to_vec(),
        }
    }

    /// What is known whatever the window, computed once: the start of an investigation, its
    /// contexts and the tools all need it. It is computed again only for a graph other than the
    /// first.
    pub(crate) fn facts(&self, graph: &OperationalGraph) -> Arc<Facts> {
        let compute = || Arc::new(facts(self, graph));
        let (topology, first) = self.facts.get_or_init(|| (graph.topology().clone(), compute()));
        if topology == graph.topology() { Arc::clone(first) } else { compute() }
    }
}

fn facts(snapshot: &Snapshot, graph: &OperationalGraph) -> Facts {
    let changes = mark_demand(change_findings(&snapshot.objects), snapshot, graph);
    let mut events = event_findings(&snapshot.events);
    events.extend(status_findings(&snapshot.objects));
    events.sort_by(|a, b| (a.time.start(), a.id()).cmp(&(b.time.start(), b.id())));
    Facts { alerts: alert_findings(&snapshot.alerts, graph, &snapshot.objects), changes, events }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ReadOptions;
    use crate::tools::Toolbox;

    #[test]
    fn facts_are_computed_once() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("alerts")).unwrap();
        std::fs::write(directory.path().join("alerts/alerts_at_1.json"), "[]").unwrap();
        let snapshot = Snapshot::open(directory.path(), &ReadOptions::default()).unwrap();
        let toolbox = Toolbox::new(Arc::new(snapshot));
        let (snapshot, graph) = (toolbox.snapshot(), toolbox.graph());
        snapshot.incident(graph);
        let first = snapshot.facts(graph);
        toolbox.context();
        assert!(toolbox.context().usual_window().is_some() || snapshot.observed().is_none());
        // Here, in the snapshot, and in the context.
        assert_eq!(Arc::strong_count(&first), 3);
        assert!(Arc::ptr_eq(&first, &snapshot.facts(&graph.clone())));
        assert!(Arc::ptr_eq(&first, &snapshot.facts(&snapshot.graph())));
    }
}
