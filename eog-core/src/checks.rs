//! Contract checks: what of a decision is taken over. The checks live in the controller, not only
//! in a prompt; each refusal is recorded with its reason.

use std::collections::BTreeSet;

use crate::belief::{Claim, ClaimEdge, Label};
use crate::contract::packet::Decision;
use crate::controller::config::{Checks, Config};
use crate::ids::{EntityId, EvidenceId};
use crate::ledger::record::{Refusal, Warning};
use crate::state::State;

/// Longest text that is taken over from a decision, in characters. Packets carry the texts of
/// neighbours and must stay bounded.
const MAX_TEXT_CHARS: usize = 2_000;

/// What is left of a decision.
pub(crate) struct Checked {
    pub(crate) label: Label,
    pub(crate) summary: String,
    pub(crate) evidence: Vec<EvidenceId>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) warnings: Vec<Warning>,
}

/// Checks label, evidence and claims of a decision, after its context was taken note of. Proposals are checked later, when it is known
/// whom the claims made active.
pub(crate) fn check(
    config: &Config,
    state: &State,
    entity: &EntityId,
    inbox: &BTreeSet<EvidenceId>,
    decision: &Decision,
) -> Checked {
    let mut checked = Checked {
        label: decision.label,
        summary: decision.summary.clone(),
        evidence: decision.evidence.clone(),
        claims: Vec::new(),
        refusals: Vec::new(),
        warnings: Vec::new(),
    };
    let full = config.checks == Checks::Full;
    let own = |id: &EvidenceId| state.get(entity).is_some_and(|node| node.seen.contains_key(id));
    let known = |id: &EvidenceId| own(id) || inbox.contains(id);
    if full {
        cut(&mut checked.summary, &mut checked.refusals);
        keep_known(&mut checked.evidence, &known, &mut checked.refusals);
    }
    let mut room = (config.max_entities as usize).saturating_sub(state.admitted.len());
    let mut admitted = BTreeSet::new();
    for claim in &decision.claims {
        let mut claim = claim.clone();
        if full {
            cut(&mut claim.condition, &mut checked.refusals);
            cut(&mut claim.observed, &mut checked.refusals);
            keep_known(&mut claim.evidence, &known, &mut checked.refusals);
        }
        let edge = claim.edge();
        let newcomers: BTreeSet<&EntityId> = [&edge.cause, &edge.effect]
            .into_iter()
            .filter(|end| !state.admitted.contains(*end) && !admitted.contains(*end))
            .collect();
        let refusal: Option<fn(ClaimEdge) -> Refusal> =
            if !state.is_known(&edge.cause) || !state.is_known(&edge.effect) {
                Some(Refusal::ClaimOnUnknownEntity)
            } else if full && edge.cause == edge.effect {
                Some(Refusal::ClaimOnItself)
            } else if full && edge.cause != *entity && edge.effect != *entity {
                Some(Refusal::ClaimBetweenOthers)
            } else if full && claim.evidence.is_empty() {
                Some(Refusal::ClaimWithoutEvidence)
            } else if newcomers.len() > room {
                Some(Refusal::ClaimBeyondEntityCap)
            } else {
                None
            };
        match refusal {
            Some(refusal) => checked.refusals.push(refusal(edge)),
            None => {
                room -= newcomers.len();
                admitted.extend(newcomers.into_iter().cloned());
                checked.claims.push(claim);
            }
        }
    }
    if full {
        let claimed = checked.claims.iter().flat_map(|claim| &claim.evidence);
        let cites_own = checked.evidence.iter().chain(claimed).any(own);
        if checked.label == Label::Origin && !cites_own {
            checked.label = Label::Defer;
            checked.refusals.push(Refusal::OriginWithoutLocalEvidence);
        }
        warn(state, entity, &mut checked);
    }
    checked
}

/// Drops unknown ids, each with a refusal.
fn keep_known(
    ids: &mut Vec<EvidenceId>,
    known: &impl Fn(&EvidenceId) -> bool,
    refusals: &mut Vec<Refusal>,
) {
    ids.retain(|id| {
        let keep = known(id);
        if !keep {
            refusals.push(Refusal::UnknownEvidence(id.clone()));
        }
        keep
    });
}

/// Cuts a text that is too long, with a refusal.
fn cut(text: &mut String, refusals: &mut Vec<Refusal>) {
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT_CHARS) {
        text.truncate(end);
        text.push('…');
        refusals.push(Refusal::TextCut);
    }
}

fn warn(state: &State, entity: &EntityId, checked: &mut Checked) {
    if checked.evidence.is_empty() && checked.claims.is_empty() {
        checked.warnings.push(Warning::Uncited);
    }
    // The entity's own earlier claims are about to be superseded and do not count.
    let by_itself = |claim: &Claim| claim.effect == *entity && claim.cause != *entity;
    let explained = || state.is_explained_by_others(entity) || checked.claims.iter().any(by_itself);
    if checked.label == Label::Symptom && !explained() {
        checked.warnings.push(Warning::SymptomWithoutCause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let (mut long, mut short) = ("é".repeat(2_001), "é".repeat(2_000));
        let mut refusals = Vec::new();
        cut(&mut long, &mut refusals);
        cut(&mut short, &mut refusals);
        assert_eq!(long, format!("{short}…"));
        assert_eq!(refusals, [Refusal::TextCut]);
    }
}
