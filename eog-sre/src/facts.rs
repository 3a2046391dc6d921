//! What is known of a snapshot, whatever the window.

use eog_core::evidence::Signal;
use eog_core::{Anomaly, Finding};

/// Changes, events and alerts of a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) alerts: Alerts,
    pub(crate) changes: Vec<Finding>,
    pub(crate) events: Vec<Finding>,
}

/// Anomalies, ignored alerts, and findings from alerts.
#[derive(Debug, Default)]
pub(crate) struct Alerts {
    pub(crate) anomalies: Vec<Anomaly>,
    pub(crate) ignored: Vec<String>,
    pub(crate) findings: Vec<Finding>,
}

impl Facts {
    /// Findings from changes, events and alerts, in this order.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.parts().into_iter().flatten()
    }

    /// What an effect map asks for: the changes, and the events that say that an experiment ran.
    pub(crate) fn causes(&self) -> Vec<Finding> {
        let ran = self.events.iter().filter(|event| event.signal == Signal::Experiment);
        self.changes.iter().chain(ran).cloned().collect()
    }

    /// One of the findings, by its place among all.
    pub(crate) fn finding(&self, place: usize) -> Option<&Finding> {
        let mut place = place;
        for part in self.parts() {
            match place.checked_sub(part.len()) {
                Some(beyond) => place = beyond,
                None => return part.get(place),
            }
        }
        None
    }

    fn parts(&self) -> [&Vec<Finding>; 3] {
        [&self.changes, &self.events, &self.alerts.findings]
    }
}
