//! What a loop remembers of what it looked at.

use std::collections::{BTreeSet, VecDeque};

use eog::{Belief, Decision, EntityId, Label, Message};

/// The latest answers, each with its entity; the oldest are forgotten.
pub(super) struct Notes {
    kept: VecDeque<(EntityId, Decision)>,
    at_most: usize,
}

impl Notes {
    pub(super) fn new(at_most: usize) -> Self {
        Self { kept: VecDeque::new(), at_most }
    }

    /// Notes an answer, and forgets the oldest if there are too many.
    pub(super) fn add(&mut self, entity: EntityId, decision: Decision) {
        self.kept.push_back((entity, decision));
        while self.kept.len() > self.at_most {
            self.kept.pop_front();
        }
    }

    pub(super) fn knows(&self, entity: &EntityId) -> bool {
        self.kept.iter().any(|(noted, _)| noted == entity)
    }

    /// Whom the notes blame or propose and do not know: those of the newest note first.
    pub(super) fn leads(&self) -> Vec<EntityId> {
        let mut leads: Vec<EntityId> = Vec::new();
        for lead in self.kept.iter().rev().flat_map(|(_, decision)| leads_of(decision)) {
            if !self.knows(lead) && !leads.contains(lead) {
                leads.push(lead.clone());
            }
        }
        leads
    }

    /// What is noted of others, as an inbox for an entity.
    pub(super) fn inbox(&self, entity: &EntityId) -> Vec<Message> {
        let others = self.kept.iter().filter(|(noted, _)| noted != entity);
        // The latest of each; sorted by sender, as in a packet.
        let latest: std::collections::BTreeMap<&EntityId, &Decision> =
            others.map(|(noted, decision)| (noted, decision)).collect();
        latest.into_iter().map(|(sender, decision)| message(sender, decision)).collect()
    }

    /// All that it takes for origins.
    pub(super) fn origins(&self) -> BTreeSet<EntityId> {
        let latest: std::collections::BTreeMap<&EntityId, &Decision> =
            self.kept.iter().map(|(noted, decision)| (noted, decision)).collect();
        let origins = latest.into_iter().filter(|(_, decision)| decision.label == Label::Origin);
        origins.map(|(noted, _)| noted.clone()).collect()
    }

    pub(super) fn latest(&self) -> Option<&(EntityId, Decision)> {
        self.kept.back()
    }
}

/// Where an answer says to look: claimed causes, then proposals.
pub(super) fn leads_of(decision: &Decision) -> impl Iterator<Item = &EntityId> {
    let causes = decision.claims.iter().map(|claim| &claim.cause);
    causes.chain(decision.proposals.iter().map(|proposal| &proposal.entity))
}

/// An answer as a neighbour hears it.
pub(super) fn message(sender: &EntityId, decision: &Decision) -> Message {
    let Decision { label, summary, evidence, claims, .. } = decision.clone();
    Message { sender: sender.clone(), belief: Belief { label, summary, evidence, claims } }
}

#[cfg(test)]
mod tests {
    use eog_testkit::{claim, entity};

    use super::*;

    #[test]
    fn what_is_forgotten_takes_its_leads_with_it() {
        let symptom = |effect: &str, cause: &str| {
            Decision::new(Label::Symptom, "suffers").claiming(claim(cause, effect, &[]))
        };
        let mut notes = Notes::new(2);
        notes.add(entity("a"), symptom("a", "x"));
        notes.add(entity("b"), symptom("b", "y"));
        assert_eq!(notes.leads(), [entity("y"), entity("x")], "the newest first");
        notes.add(entity("y"), Decision::new(Label::Origin, "failed by itself"));
        assert!(!notes.knows(&entity("a")));
        assert_eq!(notes.leads(), [], "y is known, and x is forgotten with a");
        assert_eq!(notes.origins(), [entity("y")].into());
        let senders: Vec<_> = notes.inbox(&entity("b")).into_iter().map(|m| m.sender).collect();
        assert_eq!(senders, [entity("y")]);
    }
}
