//! The incident as a whole, beside the local evidence of one entity.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evidence::{EvidenceKind, Finding};
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case::Anomaly;

/// What stands out in an incident as a whole: one more input of every question, which policies may ignore. Every judgement may
/// cite its findings and name their entities.
///
/// It is part of every packet, so the code that opens a [`Case`](super::Case) bounds it.
///
/// ```
/// use eog_core::incident::CaseFile;
/// let file = CaseFile::default();
/// assert_eq!(serde_json::to_string(&file)?, r#"{"alerts":[],"findings":[]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseFile {
    /// The alerts, by onset.
    pub alerts: Vec<Anomaly>,
    /// Changes, failures, the strongest deviations and new lines of any entity, by the time at which they began.
    pub findings: Vec<Finding>,
    /// How many hops the nearest alert is away from each entity of a finding, over declared effects; none where no path is
    /// known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hops: BTreeMap<EntityId, u32>,
    /// Kinds of evidence that no entity has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrecorded: Vec<EvidenceKind>,
    /// Declared entities of which nothing was recorded, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<EntityId>,
    /// Entities that have only findings which were left out, the strongest first: their contexts show them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<EntityId>,
    /// What was left out, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
}

impl CaseFile {
    /// A finding by its id.
    pub fn get(&self, id: &EvidenceId) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.id() == id)
    }

    /// Whether it holds a finding.
    pub fn has(&self, id: &EvidenceId) -> bool {
        self.get(id).is_some()
    }

    /// The entities of its findings, those that they name, and those that have others; some more than once.
    pub fn named(&self) -> impl Iterator<Item = &EntityId> {
        let of_findings = self.findings.iter().flat_map(|finding| {
            std::iter::once(&finding.entity).chain(finding.peer.iter().map(|peer| &peer.entity))
        });
        of_findings.chain(&self.elsewhere)
    }
}
