//! One incident, whatever it was read from.

use std::collections::BTreeSet;

use eog_core::incident::Unusable;
use eog_core::{Anomaly, EntityId, EvidenceId, Finding, Topology, Window};

/// One incident, whatever it was read from: what the start of an investigation needs.
///
/// Readers fill it ([`Bundle::incident`](crate::Bundle::incident) for bundles),
/// [`open_case`](crate::open_case) chooses window and seeds from it.
///
/// ```
/// use eog_evidence::{Incident, open_case};
/// let quiet = Incident { name: "quiet night".into(), ..Incident::default() };
/// assert!(open_case(&quiet, None).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Incident {
    /// What the incident is called.
    pub name: String,
    /// The declared dependency graph.
    pub topology: Topology,
    /// What is abnormal, noise already taken out.
    pub anomalies: Vec<Anomaly>,
    /// Alerts left out, each as "NAME on ENTITY: reason".
    pub ignored: Vec<String>,
    /// Every finding of kind `change`, all signals, over the whole recording.
    pub changes: Vec<Finding>,
    /// Changes that follow from others, such as those that a controller makes to what it owns.
    pub consequences: BTreeSet<EvidenceId>,
    /// The time over which changes were recorded, where that is stated or known of its own.
    pub changes_recorded: Option<Window>,
    /// Failure events (signals `availability` and `exhaustion`) over the whole recording.
    pub failures: Vec<Finding>,
    /// Entities of which telemetry is on record, where the reader knows them; they need no edge.
    pub recorded: Vec<EntityId>,
    /// The extent of the telemetry, if there is any.
    pub observed: Option<Window>,
    /// The window that the input itself asks for, if it does.
    pub window: Option<Window>,
    /// What the reader had to say: skipped rows, missing files.
    pub warnings: Vec<String>,
    /// The sources of which records could not be used, with the reason and its place.
    pub unusable: Vec<Unusable>,
}
