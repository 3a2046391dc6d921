//! The parts of a decision, bounded.

use eog_core::contract::CandidateScore;
use eog_core::incident::Direction;
use eog_core::{Claim, Decision, EntityId, EvidenceId, Finding, Label};

use crate::text::shorten;

/// At most this many ids for a label or a claim.
const MAX_CITED: usize = 6;

/// Longest quotation of a finding, in characters.
const MAX_QUOTE: usize = 160;

/// Longest summary, in characters.
pub(super) const MAX_SUMMARY: usize = 600;

/// A decision that cites findings, each once.
pub(super) fn decide<'a>(
    label: Label,
    summary: &str,
    cited: impl IntoIterator<Item = &'a Finding>,
) -> Decision {
    let mut decision = Decision::new(label, shorten(summary, MAX_SUMMARY));
    decision.evidence = few(cited.into_iter().map(Finding::id));
    decision
}

/// A claim that `cause` explains `effect`.
pub(super) fn claim<'a>(
    (cause, effect): (&EntityId, &EntityId),
    condition: impl Into<String>,
    observed: impl Into<String>,
    evidence: impl IntoIterator<Item = &'a EvidenceId>,
) -> Claim {
    Claim {
        cause: cause.clone(),
        effect: effect.clone(),
        condition: condition.into(),
        observed: observed.into(),
        evidence: few(evidence),
        cause_since: None,
        effect_since: None,
        explains: None,
    }
}

/// What a finding says, cut to size.
pub(super) fn quote(finding: &Finding) -> String {
    shorten(&finding.excerpt, MAX_QUOTE)
}

/// Adds the policy's own judgement of a candidate, unless there is one already.
pub(super) fn rate(decision: &mut Decision, entity: &EntityId, score: u16) {
    if decision.scores.iter().all(|known| known.entity != *entity) {
        decision.scores.push(CandidateScore { entity: entity.clone(), score });
    }
}

/// Adds at most two proposals.
pub(super) fn propose<'a>(
    mut decision: Decision,
    entities: impl IntoIterator<Item = &'a EntityId>,
    direction: Direction,
    reason: &str,
) -> Decision {
    for entity in entities.into_iter().take(2) {
        decision = decision.proposing(entity.clone(), direction, reason);
    }
    decision
}

/// The first few ids, each once.
fn few<'a>(ids: impl IntoIterator<Item = &'a EvidenceId>) -> Vec<EvidenceId> {
    let mut kept: Vec<EvidenceId> = Vec::new();
    for id in ids {
        if kept.len() == MAX_CITED {
            break;
        }
        if !kept.contains(id) {
            kept.push(id.clone());
        }
    }
    kept
}
