//! The active set: entities that wait to be evaluated, and why.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::contract::packet::Notice;
use crate::ids::EntityId;

/// Why an entity became active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The investigation starts here.
    Seed,
    /// A claim names it as a cause.
    Claim,
    /// A neighbour's belief changed.
    Wake,
    /// A new edge brought a message that was sent earlier.
    LateMessage,
    /// A policy proposed it.
    Proposal,
    /// Its last decision asked for the next page of its context.
    Page,
    /// Its last decision asked a query.
    Query,
    /// Something new was observed about it.
    Observation,
    /// A named origin explains it, and its message is unread. *Named* is an origin of the frontier
    /// that explains an anomaly. Or it is an origin of the frontier that explains none, and has a message unread. Or it leads
    /// to an anomaly that nothing explains, and has not read what its own cause said last.
    Settle,
    /// It is a neighbour of a named origin, and was never visited.
    Check,
    /// What leads to an unexplained anomaly ends with it, or right before it; or it has such an anomaly, and effects of an
    /// origin that explains none can reach it.
    DeadEnd,
    /// No entity nearer to an unexplained anomaly is left to visit.
    Widen,
    /// It is about to be named as an origin.
    SecondOpinion,
}

impl Reason {
    /// Whether it is a step of [`Widening`](super::Widening).
    pub fn is_widening(self) -> bool {
        matches!(
            self,
            Self::Settle | Self::Check | Self::DeadEnd | Self::Widen | Self::SecondOpinion
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Seed => "Seed",
            Self::Claim => "Claim",
            Self::Wake => "Wake",
            Self::LateMessage => "LateMessage",
            Self::Proposal => "Proposal",
            Self::Page => "Page",
            Self::Query => "Query",
            Self::Observation => "Observation",
            Self::Settle => "Settle",
            Self::Check => "Check",
            Self::DeadEnd => "DeadEnd",
            Self::Widen => "Widen",
            Self::SecondOpinion => "SecondOpinion",
        })
    }
}

/// A waiting entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Activation {
    pub(crate) entity: EntityId,
    pub(crate) reason: Reason,
    /// The ledger entry that caused it.
    pub(crate) cause: u64,
    /// What its packet says about a repeated evaluation.
    pub(crate) notice: Option<Notice>,
}

/// A queue in which each entity stands at most once.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActiveSet {
    queue: VecDeque<Activation>,
    members: BTreeSet<EntityId>,
}

impl ActiveSet {
    /// Appends an entity. Returns false, and changes nothing, when it already waits.
    pub(crate) fn push(&mut self, activation: Activation) -> bool {
        let new = self.members.insert(activation.entity.clone());
        if new {
            self.queue.push_back(activation);
        }
        new
    }

    /// Puts back, first in line, what was dispatched and then discarded.
    pub(crate) fn put_back(&mut self, activation: Activation) {
        let _ = self.remove(&activation.entity);
        self.members.insert(activation.entity.clone());
        self.queue.push_front(activation);
    }

    /// Takes an entity out, wherever it stands.
    pub(crate) fn remove(&mut self, entity: &EntityId) -> Option<Activation> {
        if !self.members.remove(entity) {
            return None;
        }
        let position = self.queue.iter().position(|waiting| waiting.entity == *entity)?;
        self.queue.remove(position)
    }

    /// Takes the entity at a position of [`ActiveSet::iter`].
    pub(crate) fn take(&mut self, position: usize) -> Option<Activation> {
        let activation = self.queue.remove(position)?;
        self.members.remove(&activation.entity);
        Some(activation)
    }

    pub(crate) fn contains(&self, entity: &EntityId) -> bool {
        self.members.contains(entity)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes out what meets a condition, in order of activation.
    pub(crate) fn extract(
        &mut self,
        is_meant: impl Fn(&Activation) -> bool,
    ) -> VecDeque<Activation> {
        let (taken, kept): (VecDeque<_>, VecDeque<_>) = self.queue.drain(..).partition(is_meant);
        self.queue = kept;
        for activation in &taken {
            self.members.remove(&activation.entity);
        }
        taken
    }

    /// How an entity waits, if it does.
    pub(crate) fn get(&self, entity: &EntityId) -> Option<&Activation> {
        if !self.contains(entity) {
            return None;
        }
        self.queue.iter().find(|waiting| waiting.entity == *entity)
    }

    /// In order of activation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Activation> {
        self.queue.iter()
    }
}
