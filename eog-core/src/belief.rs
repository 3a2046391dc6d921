//! Beliefs, claims and the messages that carry them.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{EntityId, EvidenceId};

/// The explanatory role of an entity (paper §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Label {
    /// Operates normally within the window.
    Healthy,
    /// Degraded, but the evidence points to a cause elsewhere.
    Symptom,
    /// Has a citable change or failure of its own that explains the incident.
    Origin,
    /// Evidence is absent or not understood.
    Defer,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Healthy => "Healthy",
            Self::Symptom => "Symptom",
            Self::Origin => "Origin",
            Self::Defer => "Defer",
        })
    }
}

/// "`cause` explains `effect`, because `condition`, seen as `observed`."
///
/// Owned by the entity whose evaluation made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// The entity that explains.
    pub cause: EntityId,
    /// The entity that is explained.
    pub effect: EntityId,
    /// What state of the cause propagates.
    pub condition: String,
    /// How it shows on the effect.
    pub observed: String,
    /// The evidence, by id.
    pub evidence: Vec<EvidenceId>,
}

impl Claim {
    /// The claim without its words: cause and effect.
    pub fn edge(&self) -> ClaimEdge {
        ClaimEdge { cause: self.cause.clone(), effect: self.effect.clone() }
    }
}

/// Cause and effect of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimEdge {
    /// The entity that explains.
    pub cause: EntityId,
    /// The entity that is explained.
    pub effect: EntityId,
}

/// What is believed about one entity (paper §4.2: `B_v`).
///
/// Also the content of a message: a broadcast carries the whole belief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Belief {
    /// The explanatory role.
    pub label: Label,
    /// One or two sentences for people and neighbours. Untrusted text.
    pub summary: String,
    /// The evidence the label rests on, by id.
    pub evidence: Vec<EvidenceId>,
    /// The entity's own live claims.
    pub claims: Vec<Claim>,
}

impl Belief {
    /// What counts as the substance of a belief: its label and the edges of its own live claims.
    pub fn signature(&self) -> Signature {
        Signature { label: self.label, claims: self.claims.iter().map(Claim::edge).collect() }
    }

    /// Every id cited by the belief and its claims.
    pub fn cited(&self) -> BTreeSet<EvidenceId> {
        let claimed = self.claims.iter().flat_map(|claim| &claim.evidence);
        self.evidence.iter().chain(claimed).cloned().collect()
    }
}

/// Label and own live claim edges of a belief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The label.
    pub label: Label,
    /// The edges of the live claims, without order or repeats.
    pub claims: BTreeSet<ClaimEdge>,
}

/// The latest belief of a neighbour, as it stands in an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Who says so.
    pub sender: EntityId,
    /// The sender's whole belief at the time of the broadcast.
    pub belief: Belief,
}
