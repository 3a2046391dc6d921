//! From an answer without problems to a decision.

use eog_core::incident::Direction;
use eog_core::{Claim, Decision, EntityId, EvidenceId, Label, Proposal};

use super::subject::Subject;
use super::{ExploreAnswer, ExploreInput, Missing, Step};

impl ExploreInput {
    /// The decision for an answer. If the answer has problems, what cannot be mapped is left out.
    pub fn decision(&self, answer: &ExploreAnswer) -> Decision {
        let subject = self.subject();
        let because = answer.because.trim();
        let summary = match (answer.label, answer.missing) {
            (Label::Defer, Missing::Absent) => format!("Evidence is absent: {because}"),
            (Label::Defer, Missing::NotUnderstood) => format!("Not understood: {because}"),
            _ => because.to_owned(),
        };
        let mut decision = Decision::new(answer.label, summary);
        decision.evidence = ids(subject, &answer.evidence);
        for claim in &answer.claims {
            let (Ok(cause), Ok(effect)) =
                (subject.resolve(&claim.cause), subject.resolve(&claim.effect))
            else {
                continue;
            };
            decision.claims.push(Claim {
                cause: cause.clone(),
                effect: effect.clone(),
                condition: claim.condition.trim().to_owned(),
                observed: claim.observed.trim().to_owned(),
                evidence: ids(subject, &claim.evidence),
                cause_since: None,
                effect_since: None,
                explains: None,
            });
        }
        for proposal in &answer.proposals {
            let Ok(entity) = subject.resolve(&proposal.entity) else { continue };
            decision.proposals.push(Proposal {
                entity: entity.clone(),
                direction: direction(subject, entity, answer.direction),
                reason: proposal.reason.trim().to_owned(),
            });
        }
        decision
    }
}

/// The ids of numbers, each once.
fn ids(subject: &Subject, numbers: &[u32]) -> Vec<EvidenceId> {
    let mut ids: Vec<EvidenceId> = Vec::new();
    for citable in numbers.iter().filter_map(|number| subject.get(*number)) {
        if !ids.contains(&citable.id) {
            ids.push(citable.id.clone());
        }
    }
    ids
}

/// Where a neighbour is declared to stand counts more than what the model calls it.
fn direction(subject: &Subject, entity: &EntityId, step: Step) -> Direction {
    let declared = subject.neighbours.iter().find(|neighbour| neighbour.entity == *entity);
    match (declared, step) {
        (Some(neighbour), _) => neighbour.direction,
        (None, Step::Upstream) => Direction::Upstream,
        (None, Step::Downstream) => Direction::Downstream,
        (None, Step::Ownership | Step::Infrastructure | Step::None) => Direction::Both,
    }
}
