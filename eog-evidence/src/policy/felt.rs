//! Who feels what fails here, and does not know it.

use eog_core::incident::{CLAIM_RELATION, Direction};
use eog_core::{Belief, Decision, EntityId, EvidenceId, EvidenceKind, Label};

use super::answer::claim;
use super::facts::Facts;
use super::times::surely_before;

/// At most this many neighbours are claimed.
const MAX_CLAIMED: usize = 3;

/// Adds the claim that this entity explains neighbours that rest on it, did not do worse before it, and say that nobody or
/// somebody else is their cause. What an entity knows of itself they cannot know.
pub(super) fn claim_those_who_feel_it(
    mut decision: Decision,
    facts: &Facts<'_>,
    is_told: impl Fn(&EntityId) -> bool,
    condition: &str,
    evidence: &[&EvidenceId],
) -> Decision {
    let mut told = in_trouble(facts);
    told.retain(|(neighbour, _)| is_told(neighbour));
    for (neighbour, belief) in told.into_iter().take(MAX_CLAIMED) {
        let observed = crate::text::shorten(&belief.summary, 160);
        let ids = evidence.iter().copied();
        let added = claim((facts.entity, neighbour), condition, observed, ids);
        if decision.claims.iter().all(|known| known.edge() != added.edge()) {
            decision = decision.claiming(added);
        }
    }
    decision
}

/// Neighbours that rest on this entity and do worse without holding it for the cause: those that hold themselves for the
/// cause come first, then by name.
fn in_trouble<'a>(facts: &Facts<'a>) -> Vec<(&'a EntityId, &'a Belief)> {
    let mut names: Vec<&EntityId> = facts
        .packet
        .neighbours
        .iter()
        .filter(|other| matches!(other.direction, Direction::Downstream | Direction::Both))
        .filter(|other| other.relation != CLAIM_RELATION)
        .map(|other| &other.entity)
        .collect();
    names.dedup();
    let since = facts.harm_since();
    let is_before = |belief: &Belief| matches!((belief.since, since), (Some(a), Some(b)) if surely_before(&a, &b));
    let feels = |belief: &&Belief| {
        let is_changed = belief.evidence.iter().any(|id| id.kind() == EvidenceKind::Change);
        match belief.label {
            Label::Origin => !is_changed && !is_before(belief),
            Label::Symptom => !is_before(belief),
            Label::Healthy | Label::Defer => false,
        }
    };
    let told = names.into_iter().filter(|other| !facts.blames_me(other));
    let mut told: Vec<(&EntityId, &Belief)> =
        told.filter_map(|other| Some((other, facts.message(other).filter(feels)?))).collect();
    told.sort_by_key(|(_, belief)| belief.label != Label::Origin);
    told
}
