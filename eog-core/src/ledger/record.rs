//! Records that the entries of every machine are made of. [`crate::ledger`] chains them.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::belief::ClaimEdge;
use crate::contract::Failure;
use crate::contract::packet::{Decision, LocalContext};
use crate::controller::config::Config;
use crate::digest::Digest;
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case::{Anomaly, Case};
use crate::incident::case_file::CaseFile;
use crate::incident::topology::Edge;

/// A local context by digest; its body is in the first entry that saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextRecord {
    /// The digest of the context.
    pub digest: Digest,
    /// The context, where this ledger sees it for the first time.
    pub body: Option<LocalContext>,
}

/// The raw answer to a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedAnswer {
    /// The policy's decision as it came.
    Decided(Decision),
    /// The packet was unchanged; the decision is that of an earlier entry.
    Remembered {
        /// The entry that holds the decision.
        entry: u64,
    },
    /// The policy failed.
    Failed(Failure),
}

/// A part of a decision that was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// An `Origin` that cites nothing of the entity's own contexts; it became `Defer`.
    OriginWithoutLocalEvidence,
    /// A summary, condition or observation of more than 2,000 characters; the rest was cut off.
    TextCut,
    /// A cited id that neither an own context nor the inbox holds.
    UnknownEvidence(EvidenceId),
    /// A claim with no known evidence left.
    ClaimWithoutEvidence(ClaimEdge),
    /// A claim between two other entities.
    ClaimBetweenOthers(ClaimEdge),
    /// A claim from the entity to itself.
    ClaimOnItself(ClaimEdge),
    /// A claim about an unknown entity.
    ClaimOnUnknownEntity(ClaimEdge),
    /// A claim whose effect was certainly there before its cause, by the times that it states itself.
    ClaimAgainstTime(ClaimEdge),
    /// A claim that would admit one entity too many.
    ClaimBeyondEntityCap(ClaimEdge),
    /// A proposal of an unknown entity.
    ProposalUnknown(EntityId),
    /// A proposal of an entity already visited.
    ProposalVisited(EntityId),
    /// A proposal of an entity already waiting.
    ProposalQueued(EntityId),
    /// A proposal made twice in one decision.
    ProposalRepeated(EntityId),
    /// A proposal beyond the cap per decision.
    ProposalBeyondCap(EntityId),
    /// Another page, where there is none or no more are allowed. The decision counts as it is.
    NoFurtherPage,
    /// Another query, where no more are allowed. The decision counts as it is.
    NoFurtherQuery,
}

/// Something accepted with a doubt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// The decision cites nothing.
    Uncited,
    /// A `Symptom`, and no live claim says of what.
    SymptomWithoutCause,
    /// An `Origin` whose condition began certainly after all of its own observations that it claims
    /// to explain.
    OriginAfterWhatItExplains,
}

/// Something new about the world, fed to a running or finished investigation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Observation {
    /// A new alert.
    Anomaly(Anomaly),
    /// A dependency came to light or into being.
    EdgeAdded(Edge),
    /// A dependency is gone. Claims stay.
    EdgeRemoved(Edge),
    /// An entity has new local evidence.
    NewEvidence(EntityId),
}

/// The whole input of an investigation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound(serialize = "S: Serialize", deserialize = "S: DeserializeOwned"))]
pub struct Opened<S = Config> {
    /// The version of the ledger's format that its writer knew.
    pub format: u32,
    /// Every choice of the machine.
    pub config: S,
    /// Topology, seeds, window, anomalies and how they were chosen.
    pub case: Case,
}

/// A fork: the entries before it were copied from another ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound(serialize = "S: Serialize", deserialize = "S: DeserializeOwned"))]
pub struct Forked<S = Config> {
    /// The hash of the last entry that the parent had, beyond those copied.
    pub parent: Digest,
    /// What is different from here on.
    pub changes: ForkChanges<S>,
}

/// What a fork changes. What it does not name stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound(serialize = "S: Serialize", deserialize = "S: DeserializeOwned"))]
pub struct ForkChanges<S = Config> {
    /// The policy from here on, if it is another. Decisions made before are not remembered then;
    /// beliefs stay until their entities are evaluated again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The configuration from here on, if another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<S>,
    /// What packets show of the incident as a whole from here on, where they did not before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case_file: Option<Arc<CaseFile>>,
}

impl<S> Default for ForkChanges<S> {
    fn default() -> Self {
        Self { policy: None, config: None, case_file: None }
    }
}
