//! What the entries of the linear loop record.

use serde::{Deserialize, Serialize};

use super::config::LinearConfig;
use crate::belief::Belief;
use crate::digest::Digest;
use crate::ids::EntityId;
use crate::ledger::body::{Body, Look};
use crate::ledger::record::{ContextRecord, Forked, Opened, RecordedAnswer, Refusal, Warning};

/// What an entry of the linear loop records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LinearBody {
    /// The whole input. Always entry 0, and only there.
    LinearOpened(Box<Opened<LinearConfig>>),
    /// One step.
    Stepped(Box<LinearStep>),
    /// From here on the investigation takes another course than the one it was copied from.
    Forked(Box<Forked<LinearConfig>>),
}

/// One step: the evaluation of an entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearStep {
    /// The entity.
    pub entity: EntityId,
    /// The local context, unless it is not available or the step repeats another.
    pub context: Option<ContextRecord>,
    /// The digest of the packet, unless there was none.
    pub packet: Option<Digest>,
    /// What came back.
    pub answer: RecordedAnswer,
    /// What was taken out of the decision, and why.
    pub refusals: Vec<Refusal>,
    /// What was accepted with a doubt.
    pub warnings: Vec<Warning>,
    /// What is believed of the entity from now on.
    pub belief: Belief,
    /// The entities whose answers are forgotten from now on, oldest first.
    pub forgotten: Vec<EntityId>,
}

impl Body for LinearBody {
    type Settings = LinearConfig;

    const FORMAT: u32 = 1;
    const OPENING: &'static str = "linear_opened";

    fn opened(&self) -> Option<&Opened<LinearConfig>> {
        if let Self::LinearOpened(opened) = self { Some(opened) } else { None }
    }

    fn look(&self) -> Option<Look<'_>> {
        let Self::Stepped(step) = self else { return None };
        let LinearStep { entity, context, packet, answer, refusals, belief, .. } = step.as_ref();
        let (context, packet) = (context.as_ref(), *packet);
        Some(Look { key: entity, entity, context, packet, answer, refusals, belief, notified: &[] })
    }

    fn forked(&self) -> Option<&Forked<LinearConfig>> {
        if let Self::Forked(forked) = self { Some(forked) } else { None }
    }
}
