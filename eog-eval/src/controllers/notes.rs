//! What a loop takes from an answer.

use eog::{Belief, Decision, EntityId, Message};

/// Where an answer says to look: claimed causes, then proposals.
pub(super) fn leads_of(decision: &Decision) -> impl Iterator<Item = &EntityId> {
    let causes = decision.claims.iter().map(|claim| &claim.cause);
    causes.chain(decision.proposals.iter().map(|proposal| &proposal.entity))
}

/// An answer as a neighbour hears it.
pub(super) fn message(sender: &EntityId, decision: &Decision) -> Message {
    let Decision { label, summary, evidence, claims, .. } = decision.clone();
    Message {
        sender: sender.clone(),
        belief: Belief {
            label,
            summary,
            evidence,
            claims,
            since: None,
            explains: None,
            rule: None,
            measures: None,
        },
    }
}
