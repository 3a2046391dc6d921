//! What a machine asks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::ids::EntityId;

/// What a machine asks.
pub trait Question: Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// What it is answered with.
    type Answer: Clone + fmt::Debug + Send + Sync + 'static;

    /// What it is about: an entity, or anything else that the machine names. At most one question
    /// of a kind is open for each key.
    fn key(&self) -> &EntityId;

    /// What it is about, for people: an entity where it has one, else the key.
    fn about(&self) -> &EntityId {
        self.key()
    }

    /// The recipient.
    fn kind(&self) -> QuestionKind;

    /// A digest of the whole question: equal questions have equal ones.
    fn digest(&self) -> Digest;
}

/// The recipient of a question: limits, time-outs and failures depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// A source of evidence.
    Context,
    /// The policy.
    Policy,
}
