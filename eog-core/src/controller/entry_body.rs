//! What the entries of this controller record.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::belief::Belief;
use crate::controller::active::Reason;
use crate::controller::config::Config;
use crate::digest::Digest;
use crate::ids::EntityId;
use crate::ledger::body::{Body, Look, Settings};
use crate::ledger::record::{
    ContextRecord, Forked, Observation, Opened, RecordedAnswer, Refusal, Warning,
};

/// The version of the ledger's format, recorded in its first entry.
pub const LEDGER_FORMAT: u32 = 1;

/// What an entry records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryBody {
    /// The whole input. Always entry 0, and only there.
    Opened(Box<Opened>),
    /// One evaluation of one entity.
    Evaluated(Box<Evaluation>),
    /// Something new about the world.
    Observed(Box<Observed>),
    /// Dispatching had stopped before what follows, for a reason that the chain cannot show.
    Halted(HaltCause),
    /// Dispatching goes on after a halt that is recorded.
    Resumed,
    /// From here on the investigation takes another course than the one it was copied from.
    Forked(Box<Forked>),
}

/// Why dispatching stopped, where only the outside world knows.
///
/// A halt after which nothing was committed leaves no trace: going on gives the ledger of a run that
/// was never halted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HaltCause {
    /// Time was up.
    Deadline,
    /// The budget of model calls was used up.
    ModelCalls,
    /// The budget of tokens was used up.
    Tokens,
    /// The budget of money was used up.
    Cost,
    /// The run was cancelled; what was under way was discarded.
    Cancelled,
}

/// One evaluation: what was seen, what was answered, what followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The number of the evaluation, counted from 1 in dispatch order.
    pub number: u64,
    /// The evaluated entity.
    pub entity: EntityId,
    /// How often it had been dispatched in this epoch, with this one.
    pub visit: u32,
    /// Why it was active.
    pub reason: Reason,
    /// The entry that activated it.
    pub activated_by: u64,
    /// The local context, unless it is not available.
    pub context: Option<ContextRecord>,
    /// The digest of the packet, unless there was none.
    pub packet: Option<Digest>,
    /// What came back.
    pub answer: RecordedAnswer,
    /// What was taken out of the decision, and why.
    pub refusals: Vec<Refusal>,
    /// What was accepted with a doubt.
    pub warnings: Vec<Warning>,
    /// What followed for the entity.
    pub outcome: Outcome,
    /// Entities that became active, and those that were refused, in order.
    pub activations: Vec<ActivationRecord>,
}

impl Evaluation {
    /// Whether it asked for the next page of its context or a query: nothing of its decision was taken over, and
    /// the same evaluation goes on.
    pub fn asks_for_more(&self) -> bool {
        self.activations.iter().any(|record| matches!(record.reason, Reason::Page | Reason::Query))
    }
}

/// What an evaluation changed about its entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The belief that holds from now on.
    pub belief: Belief,
    /// Why the belief counts as changed, if it does.
    pub change: Option<ChangeCause>,
    /// Flips of this epoch so far.
    pub flips: u32,
    /// Whether the entity is damped for good ([`Damping`](crate::controller::Damping)).
    pub damped: bool,
    /// Whether the belief is older than a failed evaluation.
    pub stale: bool,
    /// The entities that received the belief.
    pub broadcast_to: Vec<EntityId>,
}

/// Why a belief counts as changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeCause {
    /// It is the entity's first.
    First,
    /// Label or claim edges differ.
    Signature,
    /// It cites local evidence never cited before.
    NewEvidence,
    /// Its numbers differ ([`Belief::measures`](crate::Belief::measures)), in one of the first eight evaluations.
    Measures,
    /// Label or summary text differ (the paper's rule).
    Text,
}

/// One attempt to make an entity active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActivationRecord {
    /// The entity.
    pub entity: EntityId,
    /// Why.
    pub reason: Reason,
    /// Why not, if it was refused.
    pub refused: Option<ActivationRefusal>,
}

/// Why an entity did not become active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationRefusal {
    /// It is damped.
    Damped,
    /// It has used its visits.
    VisitLimit,
    /// One entity too many.
    EntityCap,
}

/// Something new about the world, and the entities it woke.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// What is new.
    pub observation: Observation,
    /// Entities that became active, and those that were refused, in order.
    pub activations: Vec<ActivationRecord>,
}

impl Settings for Config {
    fn policy(&self) -> Option<&str> {
        self.policy.as_deref()
    }

    fn to_json(&self) -> Value {
        let rules = Self { policy: None, ..self.clone() };
        serde_json::to_value(rules).unwrap_or_default()
    }
}

impl Body for EntryBody {
    type Settings = Config;

    const FORMAT: u32 = LEDGER_FORMAT;
    const OPENING: &'static str = "opened";

    fn opened(&self) -> Option<&Opened<Config>> {
        if let Self::Opened(opened) = self { Some(opened) } else { None }
    }

    fn look(&self) -> Option<Look<'_>> {
        let Self::Evaluated(evaluation) = self else { return None };
        let Evaluation { entity, context, packet, answer, refusals, outcome, .. } =
            evaluation.as_ref();
        Some(Look {
            key: entity,
            entity,
            context: context.as_ref(),
            packet: *packet,
            answer,
            refusals,
            belief: &outcome.belief,
            notified: &outcome.broadcast_to,
        })
    }

    fn observation(&self) -> Option<&Observation> {
        let Self::Observed(observed) = self else { return None };
        Some(&observed.observation)
    }

    fn forked(&self) -> Option<&Forked<Config>> {
        if let Self::Forked(forked) = self { Some(forked) } else { None }
    }
}
