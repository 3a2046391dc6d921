//! What the linear loop remembers of its evaluations.

use std::collections::{BTreeMap, VecDeque};

use crate::belief::{Belief, Message};
use crate::ids::EntityId;
use crate::ledger::record::RecordedAnswer;

/// One answer that is remembered.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) entity: EntityId,
    /// The entry that holds the decision, if there was one.
    pub(super) entry: Option<u64>,
    /// What was taken over from it.
    pub(super) belief: Belief,
    /// The entities that it suggests to evaluate: claimed causes, then proposals.
    leads: Vec<EntityId>,
}

/// The latest answers; the oldest are forgotten.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(VecDeque<Note>);

impl Note {
    /// Notes what an entry holds: which entities a decision suggests to evaluate, claimed causes
    /// first.
    pub(super) fn of(
        entity: EntityId,
        entry: u64,
        belief: Belief,
        answer: &RecordedAnswer,
    ) -> Self {
        let RecordedAnswer::Decided(decision) = answer else {
            return Self { entity, entry: None, belief, leads: Vec::new() };
        };
        let causes = decision.claims.iter().map(|claim| &claim.cause);
        let leads = causes.chain(decision.proposals.iter().map(|proposal| &proposal.entity));
        Self { entity, entry: Some(entry), belief, leads: leads.cloned().collect() }
    }
}

impl Notes {
    /// Notes an answer. Returns the entities of which nothing is remembered any more.
    pub(super) fn add(&mut self, note: Note, at_most: Option<u32>) -> Vec<EntityId> {
        self.0.push_back(note);
        let at_most = at_most.map_or(usize::MAX, |most| most as usize);
        let mut forgotten = Vec::new();
        while self.0.len() > at_most {
            let oldest = self.0.pop_front().map(|note| note.entity);
            forgotten.extend(oldest.filter(|entity| !self.knows(entity)));
        }
        forgotten
    }

    pub(super) fn knows(&self, entity: &EntityId) -> bool {
        self.0.iter().any(|note| note.entity == *entity)
    }

    pub(super) fn latest(&self) -> Option<&Note> {
        self.0.back()
    }

    /// The entities that the notes claim or propose and that are unknown: those of the newest note
    /// first.
    pub(super) fn leads(&self) -> Vec<EntityId> {
        let mut leads: Vec<EntityId> = Vec::new();
        for lead in self.0.iter().rev().flat_map(|note| &note.leads) {
            if !self.knows(lead) && !leads.contains(lead) {
                leads.push(lead.clone());
            }
        }
        leads
    }

    /// What is noted of others, as an inbox for an entity: the latest of each, by sender.
    pub(super) fn inbox(&self, entity: &EntityId) -> Vec<Message> {
        let others = self.0.iter().filter(|note| note.entity != *entity);
        let latest: BTreeMap<&EntityId, &Belief> =
            others.map(|note| (&note.entity, &note.belief)).collect();
        let message = |(sender, belief): (&EntityId, &Belief)| Message {
            sender: sender.clone(),
            belief: belief.clone(),
        };
        latest.into_iter().map(message).collect()
    }
}
