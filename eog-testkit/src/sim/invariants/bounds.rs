//! The bounds on evaluations of `eog-core`'s crate documentation, as numbers.

use std::collections::{BTreeMap, BTreeSet};

use eog::controller::{ChangeRule, Damping, EntryBody, Wake};
use eog::ledger::Observation;
use eog::{Config, Controller, EntityId, EvidenceId};

use super::no_call_repeated::touched;
use super::{Checked, Finding};
use crate::sim::simulation::history::{History, Life};

/// With a visit limit: `k_max` for each entity and epoch. Without: the bound of the recommended
/// rules, with final degrees and the evidence that was seen, plus one for each re-activation, plus
/// five second looks at each entity in each epoch.
pub(super) fn check(history: &History) -> Checked {
    // The healed life takes its first entries from another one, with other rules.
    let lives = history.lives().filter(|life| life.name != history.healed.name);
    for life in lives {
        let Some((controller, _)) = life.last() else { continue };
        let counts = Counts::of(controller);
        match life.config.max_visits {
            Some(limit) => check_visits(life, &counts, limit)?,
            None => check_broadcasts(life, &counts, controller)?,
        }
    }
    Ok(())
}

/// What the bounds speak of, from the ledger alone.
#[derive(Default)]
struct Counts {
    admitted: BTreeSet<EntityId>,
    evaluations: BTreeMap<EntityId, u64>,
    broadcasts: BTreeMap<EntityId, u64>,
    epochs: BTreeMap<EntityId, u64>,
    reactivations: u64,
    evidence: BTreeMap<EntityId, BTreeSet<EvidenceId>>,
    /// Joined by a declared edge at any time.
    declared: BTreeMap<EntityId, BTreeSet<EntityId>>,
}

impl Counts {
    fn of(controller: &Controller) -> Self {
        let mut counts = Self::default();
        let mut contexts = BTreeMap::new();
        for entry in controller.ledger().entries() {
            match &entry.body {
                EntryBody::Opened(opened) => {
                    for seed in &opened.case.seeds {
                        // Seeds beyond the cap are refused, which no entry says.
                        if counts.admitted.len() < opened.config.max_entities as usize {
                            counts.admitted.insert(seed.entity.clone());
                        }
                    }
                    opened.case.topology.edges().for_each(|edge| counts.join(edge));
                }
                EntryBody::Evaluated(evaluation) => {
                    let entity = &evaluation.entity;
                    *counts.evaluations.entry(entity.clone()).or_default() += 1;
                    let broadcast = u64::from(evaluation.outcome.change.is_some());
                    *counts.broadcasts.entry(entity.clone()).or_default() += broadcast;
                    let active = evaluation.activations.iter().filter(|a| a.refused.is_none());
                    counts.admitted.extend(active.map(|activation| activation.entity.clone()));
                    if let Some(record) = &evaluation.context {
                        if let Some(body) = &record.body {
                            contexts.insert(record.digest, body);
                        }
                        let shown = contexts.get(&record.digest).into_iter();
                        let ids = shown.flat_map(|c| &c.findings).map(|f| f.id().clone());
                        counts.evidence.entry(entity.clone()).or_default().extend(ids);
                    }
                }
                EntryBody::Observed(observed) => {
                    for entity in touched(&observed.observation) {
                        *counts.epochs.entry(entity).or_default() += 1;
                    }
                    if let Observation::EdgeAdded(edge) = &observed.observation {
                        counts.join(edge);
                    }
                    for activation in observed.activations.iter().filter(|a| a.refused.is_none()) {
                        counts.reactivations += 1;
                        counts.admitted.insert(activation.entity.clone());
                    }
                }
                _ => {}
            }
        }
        counts
    }

    fn join(&mut self, edge: &eog::incident::Edge) {
        for (one, other) in [(&edge.source, &edge.target), (&edge.target, &edge.source)] {
            if one != other {
                self.declared.entry(one.clone()).or_default().insert(other.clone());
            }
        }
    }

    fn epochs(&self, entity: &EntityId) -> u64 {
        1 + self.epochs.get(entity).copied().unwrap_or(0)
    }
}

fn check_visits(life: &Life, counts: &Counts, limit: u32) -> Checked {
    for (entity, evaluations) in &counts.evaluations {
        let most = u64::from(limit) * counts.epochs(entity);
        if *evaluations > most {
            let expected = format!("at most {most} evaluations of {entity}");
            return Err(Finding::of(life, expected, evaluations.to_string()));
        }
    }
    Ok(())
}

fn check_broadcasts(life: &Life, counts: &Counts, controller: &Controller) -> Checked {
    let Config { change, damping, wake, flip_threshold, max_evidence, max_entities, .. } =
        life.config;
    let bounded =
        (change, damping) == (ChangeRule::Substance, Damping::Absorbing) && wake != Wake::All;
    if !bounded {
        return Ok(());
    }
    if counts.admitted.len() > max_entities as usize {
        let expected = format!("at most {max_entities} entities");
        return Err(Finding::of(life, expected, counts.admitted.len().to_string()));
    }
    let mut most = counts.admitted.len() as u64 + counts.reactivations;
    if life.config.widening.is_some() {
        most += counts.admitted.iter().map(|entity| 5 * counts.epochs(entity)).sum::<u64>();
    }
    for (entity, broadcasts) in &counts.broadcasts {
        let evidence = counts.evidence.get(entity).map_or(0, BTreeSet::len) as u64;
        let flips = (u64::from(flip_threshold) + 1) * counts.epochs(entity);
        let may = 1 + flips + evidence.min(max_evidence.into());
        if *broadcasts > may {
            let expected = format!("at most {may} broadcasts of {entity}");
            return Err(Finding::of(life, expected, broadcasts.to_string()));
        }
        let mut joined: BTreeSet<EntityId> = controller.adjacent(entity).into_iter().collect();
        joined.extend(counts.declared.get(entity).into_iter().flatten().cloned());
        most += broadcasts * joined.len() as u64;
    }
    let evaluations: u64 = counts.evaluations.values().sum();
    if evaluations > most {
        let expected = format!("at most {most} evaluations");
        return Err(Finding::of(life, expected, evaluations.to_string()));
    }
    Ok(())
}
