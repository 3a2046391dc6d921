//! A model of a loop that was told the algorithm and carries it out in its head.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use eog::belief::ClaimEdge;
use eog::{Decision, EntityId, Label};
use eog_simulate::Stream;
use serde::Serialize;

use super::notes::{leads_of, message};
use super::scene::{Outcome, Scene};
use crate::error::EvalError;

/// A loop that does what EoG does (active set, beliefs, messages, revision), but keeps the lists
/// itself. A model of a model that was given the algorithm (the paper's table 3), and not one.
///
/// After each step, each of these happens with the probability `slips`:
///
/// - an entry of its list of what to look at is lost; each entry by itself;
/// - a belief is lost, with its claims, and that it looked there; each by itself, the newest kept;
/// - it takes its work for done and answers with what it has.
///
/// It names the origins that it remembers and that none of the others explains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ToldLoop {
    /// The probability of each slip in each step. An assumption, so that it is varied.
    pub slips: f64,
    /// Most looks at one entity (`k_max` of the paper).
    pub visits: u32,
    /// Most steps.
    pub steps: u64,
}

/// Slips in one of ten, five visits as in the paper.
impl Default for ToldLoop {
    fn default() -> Self {
        Self { slips: 0.1, visits: 5, steps: 1_000 }
    }
}

/// What it has in its head.
#[derive(Default)]
struct Head {
    next: VecDeque<EntityId>,
    beliefs: BTreeMap<EntityId, Decision>,
    visits: BTreeMap<EntityId, u32>,
}

impl ToldLoop {
    pub(super) fn investigate(&self, scene: &Scene<'_>) -> Result<Outcome, EvalError> {
        let mut slips = scene.stream("slips");
        let mut head = Head::default();
        for alert in scene.alerts() {
            head.activate(&alert.entity, self.visits);
        }
        let mut calls = 0;
        let steps = scene.budget.map_or(self.steps, |most| most.min(self.steps));
        while calls < steps {
            let Some(entity) = head.next.pop_front() else { break };
            let neighbours = head.adjacent(&entity, scene);
            let heard = head.beliefs.iter().filter(|(other, _)| neighbours.contains(*other));
            let inbox = heard.map(|(sender, decision)| message(sender, decision)).collect();
            let decision = scene.look(&entity, inbox)?;
            calls += 1;
            *head.visits.entry(entity.clone()).or_default() += 1;
            head.take_in(&entity, &decision, scene, self.visits);
            head.slip(&entity, self.slips, &mut slips);
            if slips.chance(self.slips) {
                break;
            }
        }
        Ok(Outcome { named: head.frontier(), calls })
    }
}

impl Head {
    /// Lists an entity unless it is listed or was looked at too often.
    fn activate(&mut self, entity: &EntityId, visits: u32) {
        let visited = self.visits.get(entity).copied().unwrap_or(0);
        if visited < visits && !self.next.contains(entity) {
            self.next.push_back(entity.clone());
        }
    }

    /// Declared neighbours, and those that a claim joins.
    fn adjacent(&self, entity: &EntityId, scene: &Scene<'_>) -> BTreeSet<EntityId> {
        let declared = scene.truth.topology().neighbours(entity);
        let mut adjacent: BTreeSet<EntityId> =
            declared.iter().map(|neighbour| neighbour.entity.clone()).collect();
        for ClaimEdge { cause, effect } in self.claims() {
            if cause == *entity {
                adjacent.insert(effect);
            } else if effect == *entity {
                adjacent.insert(cause);
            }
        }
        adjacent
    }

    fn claims(&self) -> impl Iterator<Item = ClaimEdge> + '_ {
        self.beliefs.values().flat_map(|belief| &belief.claims).map(eog::Claim::edge)
    }

    /// Steps 6 to 9 of the algorithm: belief, claims, wakes, proposals.
    fn take_in(&mut self, entity: &EntityId, decision: &Decision, scene: &Scene<'_>, visits: u32) {
        let signature = |decision: &Decision| {
            let claims: BTreeSet<ClaimEdge> =
                decision.claims.iter().map(eog::Claim::edge).collect();
            (decision.label, claims)
        };
        let old = self.beliefs.insert(entity.clone(), decision.clone());
        for lead in leads_of(decision) {
            if !self.beliefs.contains_key(lead) {
                self.activate(lead, visits);
            }
        }
        if old.as_ref().map(signature) == Some(signature(decision)) {
            return;
        }
        for neighbour in self.adjacent(entity, scene) {
            if self.beliefs.contains_key(&neighbour) {
                self.activate(&neighbour, visits);
            }
        }
    }

    fn slip(&mut self, newest: &EntityId, share: f64, draw: &mut Stream) {
        self.next.retain(|_| !draw.chance(share));
        self.beliefs.retain(|entity, _| {
            let lost = draw.chance(share);
            entity == newest || !lost
        });
    }

    /// Origins that no other origin explains over the claims that are remembered.
    fn frontier(&self) -> BTreeSet<EntityId> {
        let claims: Vec<ClaimEdge> = self.claims().collect();
        let is_origin = |entity: &EntityId| {
            self.beliefs.get(entity).is_some_and(|belief| belief.label == Label::Origin)
        };
        let explained = |origin: &EntityId| {
            let mut seen: BTreeSet<&EntityId> = [origin].into();
            let mut next = vec![origin];
            while let Some(effect) = next.pop() {
                for claim in claims.iter().filter(|claim| claim.effect == *effect) {
                    if seen.insert(&claim.cause) {
                        next.push(&claim.cause);
                    }
                }
            }
            seen.into_iter().any(|cause| cause != origin && is_origin(cause))
        };
        let origins = self.beliefs.keys().filter(|entity| is_origin(entity));
        origins.filter(|origin| !explained(origin)).cloned().collect()
    }
}

impl fmt::Display for ToldLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loop given the algorithm, slips {}", self.slips)
    }
}
