//! The input of an investigation: what is abnormal, where to start, and in which window.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::evidence::{Finding, Signal};
use crate::ids::{EntityId, EvidenceId};
use crate::incident::onset::Onset;
use crate::incident::topology::Topology;
use crate::incident::window::Window;

/// An observation of abnormal behaviour on an entity: an alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Anomaly {
    /// The alert's name.
    pub name: String,
    /// The entity it fired on.
    pub entity: EntityId,
    /// What it speaks of.
    pub signal: Signal,
    /// When it first became active.
    pub onset: Timestamp,
    /// Every time it became active again after it had been quiet, sorted, without the first.
    #[serde(default)]
    pub renewed: Vec<Timestamp>,
    /// When it was last seen active, if that is known.
    #[serde(default)]
    pub last_seen: Option<Timestamp>,
    /// How severe the source says it is.
    #[serde(default)]
    pub severity: String,
    /// What the source says about it. Untrusted text.
    #[serde(default)]
    pub description: String,
}

impl Anomaly {
    /// The first and every later onset, in time order.
    pub fn onsets(&self) -> impl Iterator<Item = Timestamp> + '_ {
        std::iter::once(self.onset).chain(self.renewed.iter().copied())
    }
}

/// An entity to start from, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    /// Where to look.
    pub entity: EntityId,
    /// Why to look there.
    pub reason: String,
}

/// How the start of an investigation was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bootstrap {
    /// Why this window.
    pub window_reason: String,
    /// Alerts that were left out, each with the reason.
    pub ignored: Vec<String>,
    /// The evidence that the choice rests on.
    pub evidence: Vec<Finding>,
    /// What the readers of the input had to say: skipped rows, missing files.
    pub warnings: Vec<String>,
    /// How much of which source could not be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unusable: Vec<Unusable>,
}

/// Records of a source that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unusable {
    /// The file or table.
    pub source: String,
    /// How many records it has.
    pub records: u64,
    /// How many of them could not be used.
    pub unusable: u64,
    /// Why, for the first of them, with its place.
    pub reason: String,
}

/// What is on record of changes, whoever they concern: what a cause is measured against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeRecord {
    /// The time over which changes were recorded.
    pub span: Window,
    /// Every change, in time order, then by entity. Mere restarts are none.
    pub changes: Vec<RecordedChange>,
}

/// One change on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedChange {
    /// What was changed.
    pub entity: EntityId,
    /// When, as the interval in which it was made.
    pub made: Onset,
    /// The change in a few words. Untrusted text.
    pub what: String,
    /// The finding that tells it, where the entity's context holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<EvidenceId>,
}

/// The whole input of an investigation, recorded as the first entry of its ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The declared dependency graph.
    pub topology: Topology,
    /// The window under investigation.
    pub window: Window,
    /// What must be explained.
    pub anomalies: Vec<Anomaly>,
    /// Where to start, in this order. Repeats are ignored.
    pub seeds: Vec<Seed>,
    /// How the above was chosen.
    pub bootstrap: Bootstrap,
    /// The changes on record, if there is a record of changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<ChangeRecord>,
}

impl Case {
    /// A case that starts at every anomaly, in the given order.
    pub fn from_anomalies(topology: Topology, window: Window, anomalies: Vec<Anomaly>) -> Self {
        let seeds = anomalies
            .iter()
            .map(|anomaly| Seed {
                entity: anomaly.entity.clone(),
                reason: format!("alert {}", anomaly.name),
            })
            .collect();
        Self { topology, window, anomalies, seeds, bootstrap: Bootstrap::default(), record: None }
    }
}
