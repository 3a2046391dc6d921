//! A parsed case.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::contract::{FailureKind, NoticeReason};
use eog_core::ledger::Observation;
use eog_core::{Case, Config, Decision, EntityId, EvidenceId, Finding, Label};

pub(crate) struct Script {
    pub(crate) case: Case,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) rules: Vec<Rule>,
    /// What fails, by evaluation number.
    pub(crate) failures: BTreeMap<u64, FailureKind>,
    pub(crate) events: Vec<Event>,
    pub(crate) runs: Vec<Run>,
    /// Names of evidence ids, known and unknown ones.
    pub(crate) names: BTreeMap<EvidenceId, String>,
    /// Everything before the `----` line.
    pub(crate) input: String,
    /// Everything after it.
    pub(crate) expected: String,
}

/// One way to run the case.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) title: String,
    pub(crate) config: Config,
    /// Answer the newest request first, instead of the oldest.
    pub(crate) newest_first: bool,
}

/// A finding and when the context contract returns it.
pub(crate) struct Evidence {
    pub(crate) finding: Finding,
    pub(crate) page: u32,
    /// The hops of its route, if it has one; its entity is the last.
    pub(crate) route: Vec<EntityId>,
    pub(crate) from_visit: u32,
    /// Only when one of these has sent something new; empty for always.
    pub(crate) when_new: BTreeSet<EntityId>,
    /// Only after an observation of it.
    pub(crate) observed_only: bool,
}

/// A decision and the packets it answers.
pub(crate) struct Rule {
    pub(crate) entity: EntityId,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) decision: Decision,
}

/// What a rule asks of a packet.
pub(crate) enum Condition {
    Sees(EvidenceId),
    Lacks(EvidenceId),
    Received(EntityId),
    Missing(EntityId),
    Near(EntityId),
    /// The packet shows an anomaly of this name.
    Alerts(String),
    /// The entity was judged so before.
    Was(Label),
    /// The message of this sender is new since then.
    News(EntityId),
    /// Something is known of this neighbour.
    Hint(EntityId),
    /// This finding of another entity is quoted.
    Quotes(EvidenceId),
    /// The notice is of this kind, and of this evaluation.
    Asked(NoticeReason, u32),
    /// The notice names a rival.
    Rival(EntityId),
    /// The notice lists another origin.
    Beside(EntityId),
    /// The notice lists an origin that explains nothing so far.
    Unlinked(EntityId),
    Is(EntityId, Label),
    Claims(EntityId, EntityId, EntityId),
}

/// Something that happens from outside.
pub(crate) struct Event {
    pub(crate) moment: Moment,
    pub(crate) what: Happening,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Moment {
    /// Once this entry is stored.
    After(u64),
    /// Once the investigation is done.
    AtEnd,
}

pub(crate) enum Happening {
    Observe(Observation, Option<EvidenceId>),
    Cancel,
    Deadline,
}
