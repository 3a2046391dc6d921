//! Why an entity was never judged.

use eog_core::controller::{ActivationRefusal, EntryBody, Reason};
use eog_core::ledger::{Refusal, RestoreError};
use eog_core::{Belief, Controller, EntityId, Label, Ledger, StopReason};

/// Why an entity has no label, as far as a ledger shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unjudged {
    /// Nothing in the ledger has this name.
    Unknown,
    /// It was waiting for its turn when the investigation ended.
    Waiting {
        /// Why it was to be judged.
        reason: Reason,
        /// Why the investigation ended, if the ledger says so; it was stopped from outside
        /// otherwise.
        stop: Option<StopReason>,
    },
    /// It was to be judged and was refused.
    Refused {
        /// The entry.
        entry: u64,
        /// Why.
        refusal: ActivationRefusal,
    },
    /// The policy proposed it, beyond the number of proposals that a decision may make.
    BeyondCap {
        /// The entry.
        entry: u64,
    },
    /// Alerts of it were left out when the investigation was begun, each with the reason given.
    LeftOut(Vec<String>),
    /// It is an outside system: evidence of these entities names it, and their claims call it a cause.
    Outside(Vec<EntityId>),
    /// Nothing led to it: it is no start, no claim names it, and no policy proposed it.
    NeverReached {
        /// Its neighbours that were judged, by name, with their labels at the end.
        judged: Vec<(EntityId, Label)>,
        /// Whether it is in the topology. Otherwise evidence names it, and nothing joins it to the
        /// rest.
        declared: bool,
    },
}

/// Says why an entity was never judged. `None` if it was.
///
/// # Errors
/// [`RestoreError`] when the ledger does not follow by the rules of this program.
pub fn unjudged(ledger: &Ledger, entity: &EntityId) -> Result<Option<Unjudged>, RestoreError> {
    if ledger.evaluations().any(|evaluation| evaluation.entity == *entity) {
        return Ok(None);
    }
    Ok(Some(why_unjudged(ledger, &Controller::restore(ledger)?, entity)))
}

/// The same of an entity that was never judged, given the controller after the last entry.
pub(super) fn why_unjudged(
    ledger: &Ledger,
    controller: &Controller,
    entity: &EntityId,
) -> Unjudged {
    let waiting = controller.active().find(|(waiting, _)| *waiting == entity);
    if let Some((_, reason)) = waiting {
        return Unjudged::Waiting { reason, stop: controller.stop() };
    }
    if let Some(refused) = refused(ledger, entity) {
        return refused;
    }
    let left_out = left_out(ledger, entity);
    if !left_out.is_empty() {
        return Unjudged::LeftOut(left_out);
    }
    let blames =
        |belief: &Belief| belief.claims.iter().any(|claim| claim.outside && claim.cause == *entity);
    let blaming = controller.beliefs().filter(|(_, belief)| blames(belief));
    let blaming: Vec<EntityId> = blaming.map(|(owner, _)| owner.clone()).collect();
    if !blaming.is_empty() {
        return Unjudged::Outside(blaming);
    }
    let declared = controller.topology().contains(entity);
    if !declared && !is_named(ledger, entity) {
        return Unjudged::Unknown;
    }
    let neighbours = controller.adjacent(entity).into_iter();
    let judged = neighbours.filter_map(|neighbour| {
        let label = controller.belief(&neighbour)?.label;
        Some((neighbour, label))
    });
    Unjudged::NeverReached { judged: judged.collect(), declared }
}

/// The last entry that refused it.
fn refused(ledger: &Ledger, entity: &EntityId) -> Option<Unjudged> {
    ledger.entries().iter().rev().find_map(|entry| {
        let evaluation = entry.evaluation()?;
        let beyond = Refusal::ProposalBeyondCap(entity.clone());
        if evaluation.refusals.contains(&beyond) {
            return Some(Unjudged::BeyondCap { entry: entry.seq });
        }
        let mut records = evaluation.activations.iter().filter(|it| it.entity == *entity);
        let refusal = records.find_map(|record| record.refused)?;
        Some(Unjudged::Refused { entry: entry.seq, refusal })
    })
}

/// What was left out at the beginning, each as "NAME on ENTITY: reason".
fn left_out(ledger: &Ledger, entity: &EntityId) -> Vec<String> {
    let Some(EntryBody::Opened(opened)) = ledger.entries().first().map(|entry| &entry.body) else {
        return Vec::new();
    };
    let of = format!(" on {entity}: ");
    let ignored = opened.case.bootstrap.ignored.iter();
    ignored.filter(|words| words.contains(&of)).cloned().collect()
}

/// Whether any evidence names it.
fn is_named(ledger: &Ledger, entity: &EntityId) -> bool {
    ledger.evaluations().any(|evaluation| {
        let body = evaluation.context.as_ref().and_then(|record| record.body.as_ref());
        body.is_some_and(|context| context.named().contains(entity))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // The cases need whole runs: see tests/travel.rs of the crate `eog`.
    #[test]
    fn an_empty_ledger_is_an_error() {
        let entity = EntityId::new("db").expect("a name");
        assert!(unjudged(&Ledger::default(), &entity).is_err());
    }
}
