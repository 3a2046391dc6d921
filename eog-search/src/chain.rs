//! Chains: one agent that acts, sees what comes of it, and acts again, until it concludes.

use std::fmt;
use std::sync::Arc;

use eog_core::EntityId;
use eog_core::contract::Failure;
use serde::{Deserialize, Serialize};

use crate::ask::Seen;
use crate::body::RefusedAction;
use crate::lane::{Came, ToolCall};

/// Most steps of a plan, those that are settled included.
pub const MAX_PLAN: usize = 20;

/// Where an agent says it is in its investigation (appendix A of the EoG paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainPhase {
    /// The parts of the system, and how they are connected.
    Context,
    /// The alerts, with times and durations.
    Symptoms,
    /// What may be the cause, and how to find out.
    Hypotheses,
    /// Evidence for and against.
    Evidence,
    /// How one event led to the next.
    CausalChain,
    /// The answer.
    Conclusion,
}

impl fmt::Display for ChainPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Context => "context",
            Self::Symptoms => "symptoms",
            Self::Hypotheses => "hypotheses",
            Self::Evidence => "evidence",
            Self::CausalChain => "causal chain",
            Self::Conclusion => "conclusion",
        })
    }
}

/// What an agent does next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainAction {
    /// Why. Untrusted text.
    pub thought: String,
    /// Where it says it is.
    pub phase: ChainPhase,
    /// What changes in its plan, before anything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlanEdit>,
    /// The step of the plan that it works on, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// What it does.
    pub deed: Deed,
}

/// What an agent can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Evaluates an entity: its local context, and a decision of the policy on what that means.
    Look(EntityId),
    /// Calls a tool.
    Call(ToolCall),
    /// Ends the chain.
    Conclude {
        /// The causes, each of which none of the others explains.
        causes: Vec<EntityId>,
        /// How they led to the alerts. Untrusted text.
        summary: String,
    },
}

/// A change of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanEdit {
    /// A further step, with the next number.
    Add(String),
    /// A step is done.
    Done(u32),
    /// A step is not needed any more.
    Withdraw(u32),
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanStep {
    /// Its number, from 1.
    pub number: u32,
    /// What is to be done. Untrusted text.
    pub text: String,
    /// Its state.
    pub status: PlanStatus,
}

/// The state of a step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// It is still to be done.
    Open,
    /// It was done.
    Done,
    /// It is not needed any more.
    Withdrawn,
}

/// Why a part of an action does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusedDeed {
    /// The plan has no such step.
    UnknownStep,
    /// The step is done or withdrawn.
    SettledStep,
    /// The plan is full.
    TooMany,
    /// The entity was not evaluated.
    NotLookedAt,
    /// The last evaluation of the entity found no origin.
    NoOrigin,
}

impl fmt::Display for RefusedDeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownStep => "the plan has no such step",
            Self::SettledStep => "the step is done or withdrawn",
            Self::TooMany => "the plan is full",
            Self::NotLookedAt => "the entity was not evaluated",
            Self::NoOrigin => "the last evaluation of the entity found no origin",
        })
    }
}

/// A step of a chain as its agent sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainStep {
    /// Which, counted from 1.
    pub number: u32,
    /// What the agent did.
    pub action: Arc<ChainAction>,
    /// Parts of it that did not count.
    pub refused: Vec<(String, RefusedDeed)>,
    /// Its outcome.
    pub came: ChainCame,
}

/// The outcome of a step of a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainCame {
    /// An evaluation.
    Looked(Seen),
    /// What a tool answered.
    Called(Came),
    /// It was not done.
    Refused(RefusedAction),
}

/// A step of a chain: what the agent wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reacted {
    /// Which step, counted from 1; one more than there may be where the agent has to conclude.
    pub step: u32,
    /// The failures, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// The answer, unless the call failed.
    pub action: Option<Arc<ChainAction>>,
    /// Which parts of it do not count, by name and position, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(String, RefusedDeed)>,
    /// Why it is not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_done: Option<RefusedAction>,
}

/// A call of a tool in a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Called {
    /// The number of the step of the chain, from 1.
    pub step: u32,
    /// The call.
    pub call: ToolCall,
    /// Its outcome.
    pub came: Came,
}

/// The oldest steps of a chain became a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compacted {
    /// Every step up to this one.
    pub through: u32,
    /// The failures, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// The answer, unless the call failed. Untrusted text; the agent sees as much of it as allowed.
    pub text: Option<String>,
}
