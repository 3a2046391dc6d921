//! The input of an investigation: what is abnormal, where to start, and in which window.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::evidence::{Finding, Signal};
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case_file::CaseFile;
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
    /// Its subject.
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
    /// An alert that became active once, of no stated severity.
    ///
    /// ```
    /// use eog_core::Anomaly;
    /// use eog_core::evidence::Signal;
    /// let onset = "2026-01-01T10:05:00Z".parse()?;
    /// let alert = Anomaly::new("HttpErrors", "cart".parse()?, Signal::Errors, onset)
    ///     .with_severity("critical")
    ///     .with_description("5 % of requests fail");
    /// assert_eq!(alert.onsets().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        name: impl Into<String>,
        entity: EntityId,
        signal: Signal,
        onset: Timestamp,
    ) -> Self {
        Self {
            name: name.into(),
            entity,
            signal,
            onset,
            renewed: Vec::new(),
            last_seen: None,
            severity: String::new(),
            description: String::new(),
        }
    }

    /// With every time at which it became active again, in any order.
    #[must_use]
    pub fn with_renewals(self, renewed: impl IntoIterator<Item = Timestamp>) -> Self {
        let mut renewed: Vec<Timestamp> = renewed.into_iter().collect();
        renewed.sort();
        Self { renewed, ..self }
    }

    /// With the time at which it was last seen active.
    #[must_use]
    pub fn with_last_seen(self, last_seen: Timestamp) -> Self {
        Self { last_seen: Some(last_seen), ..self }
    }

    /// With how severe the source says it is.
    #[must_use]
    pub fn with_severity(self, severity: impl Into<String>) -> Self {
        Self { severity: severity.into(), ..self }
    }

    /// With what the source says about it.
    #[must_use]
    pub fn with_description(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// The first and every later onset, in time order.
    pub fn onsets(&self) -> impl Iterator<Item = Timestamp> + '_ {
        std::iter::once(self.onset).chain(self.renewed.iter().copied())
    }
}

/// An entity to start from, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    /// Which entity to evaluate.
    pub entity: EntityId,
    /// Why to evaluate it.
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
    /// Notes of the readers of the input: skipped rows, missing files.
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

/// What is on record of changes, of all entities: what a cause is measured against.
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
    /// The finding that states it, where the entity's context holds it.
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
    /// What stands out as a whole, if policies are to be shown it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_file: Option<Arc<CaseFile>>,
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
        let bootstrap = Bootstrap::default();
        Self { topology, window, anomalies, seeds, bootstrap, record: None, case_file: None }
    }

    /// With one more entity to start from, and why.
    ///
    /// ```
    /// use eog_core::{Case, Topology, Window};
    /// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
    /// let case = Case::from_anomalies(Topology::default(), window, Vec::new())
    ///     .with_seed("cart".parse()?, "a hunch");
    /// assert_eq!(case.seeds.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_seed(mut self, entity: EntityId, reason: impl Into<String>) -> Self {
        self.seeds.push(Seed { entity, reason: reason.into() });
        self
    }

    /// With the changes on record, which a cause is measured against.
    #[must_use]
    pub fn with_record(self, record: ChangeRecord) -> Self {
        Self { record: Some(record), ..self }
    }

    /// With what stands out as a whole, which every packet then shows.
    #[must_use]
    pub fn with_case_file(self, case_file: CaseFile) -> Self {
        Self { case_file: Some(Arc::new(case_file)), ..self }
    }
}
