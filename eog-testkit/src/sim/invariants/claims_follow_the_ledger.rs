//! Live claims and beliefs are what the recorded decisions come to under the claim rule.

use std::collections::{BTreeMap, BTreeSet};

use eog::belief::ClaimEdge;
use eog::controller::{Checks, ClaimRule, Damping, EntryBody, Evaluation};
use eog::ledger::{RecordedAnswer, Refusal};
use eog::{Config, Controller, Decision, EntityId, Label};

use super::{Checked, Finding};
use crate::sim::simulation::history::{History, Life};

/// A plain fold over raw decisions and refusals: what was superseded is gone, what accumulates
/// stays, and nothing else is live.
pub(super) fn check(history: &History) -> Checked {
    history.lives().try_for_each(|life| {
        let finished = life.processes.iter().filter_map(|process| process.finished());
        finished.map(|(controller, _)| controller).try_for_each(|c| check_controller(life, c))
    })
}

fn check_controller(life: &Life, controller: &Controller) -> Checked {
    let folded = fold(controller);
    let mut all = BTreeSet::new();
    for (entity, (label, claims)) in &folded {
        let belief = controller.belief(entity);
        let found: BTreeSet<ClaimEdge> =
            belief.into_iter().flat_map(|belief| &belief.claims).map(eog::Claim::edge).collect();
        if found != *claims {
            let expected = format!("{entity} claiming {}", listed(claims));
            return Err(Finding::of(life, expected, listed(&found)));
        }
        let held = belief.map(|belief| belief.label);
        if label.is_some() && held != *label {
            let expected = format!("{entity} labelled {label:?}");
            return Err(Finding::of(life, expected, format!("{held:?}")));
        }
        all.extend(claims.iter().cloned());
    }
    let live: BTreeSet<ClaimEdge> = controller.live_claims().into_iter().collect();
    if live != all {
        let expected = format!("the live claims {}", listed(&all));
        return Err(Finding::of(life, expected, listed(&live)));
    }
    Ok(())
}

/// Label, where it is sure, and claims of each entity.
type Beliefs = BTreeMap<EntityId, (Option<Label>, BTreeSet<ClaimEdge>)>;

fn fold(controller: &Controller) -> Beliefs {
    let entries = controller.ledger().entries();
    let mut config = Config::default();
    let mut beliefs = Beliefs::new();
    for entry in entries {
        let evaluation = match &entry.body {
            EntryBody::Opened(opened) => {
                config = opened.config.clone();
                continue;
            }
            EntryBody::Forked(forked) => {
                config = forked.changes.config.clone().unwrap_or(config);
                continue;
            }
            EntryBody::Evaluated(evaluation) => evaluation,
            _ => continue,
        };
        let decision = match &evaluation.answer {
            RecordedAnswer::Decided(decision) => Some(decision),
            RecordedAnswer::Remembered { entry } => {
                let earlier = usize::try_from(*entry).ok().and_then(|seq| entries.get(seq));
                match earlier.and_then(|e| e.evaluation()).map(|e| &e.answer) {
                    Some(RecordedAnswer::Decided(decision)) => Some(decision),
                    _ => None,
                }
            }
            RecordedAnswer::Failed(_) => None,
        };
        // A failure on the first visit leaves `Defer`, later ones change nothing.
        let first = || (Some(Label::Defer), BTreeSet::new());
        let belief = beliefs.entry(evaluation.entity.clone()).or_insert_with(first);
        let Some(decision) = decision else { continue };
        if config.claims == ClaimRule::Supersede {
            belief.1.clear();
        }
        belief.1.extend(accepted(decision, evaluation));
        belief.0 = label(&config, decision, evaluation);
    }
    beliefs
}

/// The claims of a decision without those that were refused.
fn accepted(decision: &Decision, evaluation: &Evaluation) -> BTreeSet<ClaimEdge> {
    let mut left: BTreeMap<ClaimEdge, usize> = BTreeMap::new();
    for claim in &decision.claims {
        *left.entry(claim.edge()).or_default() += 1;
    }
    for refusal in &evaluation.refusals {
        let (Refusal::ClaimWithoutEvidence(edge)
        | Refusal::ClaimBetweenOthers(edge)
        | Refusal::ClaimOnItself(edge)
        | Refusal::ClaimOnUnknownEntity(edge)
        | Refusal::ClaimBeyondEntityCap(edge)) = refusal
        else {
            continue;
        };
        if let Some(count) = left.get_mut(edge) {
            *count = count.saturating_sub(1);
        }
    }
    left.into_iter().filter(|(_, count)| *count > 0).map(|(edge, _)| edge).collect()
}

/// The label that follows, where the decision states it.
fn label(config: &Config, decision: &Decision, evaluation: &Evaluation) -> Option<Label> {
    let demoted = evaluation.refusals.contains(&Refusal::OriginWithoutLocalEvidence);
    match config.damping {
        Damping::Absorbing if evaluation.outcome.damped => Some(Label::Defer),
        Damping::Absorbing | Damping::LastWord if demoted && config.checks == Checks::Full => {
            Some(Label::Defer)
        }
        Damping::Absorbing | Damping::LastWord => Some(decision.label),
        // Whether it is overridden hangs on flips of labels that the override itself makes.
        Damping::LabelOverride => None,
    }
}

fn listed(edges: &BTreeSet<ClaimEdge>) -> String {
    let edges: Vec<String> =
        edges.iter().map(|edge| format!("{} → {}", edge.cause, edge.effect)).collect();
    format!("[{}]", edges.join(", "))
}
