//! What every controller gets: one incident, one judge, one order, one source of chance.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use eog::{Anomaly, Case, ContextPacket, Decision, EntityId, Finished, Machine, Message};
use eog_simulate::oracle::NoisyOracle;
use eog_simulate::truth::TruthGraph;
use eog_simulate::{RandomSeed, Stream};

use super::order::Exploration;
use crate::error::EvalError;

/// One incident and who judges it.
pub(super) struct Scene<'a> {
    pub(super) truth: &'a TruthGraph,
    pub(super) oracle: &'a NoisyOracle<'a>,
    pub(super) order: Exploration,
    /// Most questions to the judge, if they are limited.
    pub(super) budget: Option<u64>,
    seed: RandomSeed,
    distances: BTreeMap<EntityId, usize>,
}

/// What a controller came to.
pub(super) struct Outcome {
    /// The entities that it names as causes.
    pub(super) named: BTreeSet<EntityId>,
    /// How often it asked.
    pub(super) calls: u64,
}

impl Outcome {
    /// What a machine came to: its causes, else its best guess, by the same rule for all.
    pub(super) fn of<M: Machine>(ended: &Finished<M>, calls: u64) -> Self {
        Self { named: ended.diagnosis().choice().into_iter().cloned().collect(), calls }
    }
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        truth: &'a TruthGraph,
        oracle: &'a NoisyOracle<'a>,
        order: Exploration,
        seed: RandomSeed,
    ) -> Self {
        Self { truth, oracle, order, budget: None, seed, distances: distances(truth) }
    }

    /// The same with at most so many questions.
    pub(super) fn within(self, budget: Option<u64>) -> Self {
        Self { budget, ..self }
    }

    /// Chance for one purpose: the same for all controllers and rates of errors.
    pub(super) fn stream(&self, purpose: &str) -> Stream {
        self.seed.stream(purpose)
    }

    /// How many calls lie between an entity and the nearest cause, whichever way.
    pub(super) fn distance(&self, entity: &EntityId) -> usize {
        self.distances.get(entity).copied().unwrap_or(usize::MAX)
    }

    /// The alerts, in the order to be tried.
    pub(super) fn alerts(&self) -> Vec<&'a Anomaly> {
        let mut alerts: Vec<&Anomaly> = self.truth.anomalies().iter().collect();
        let distance = |alert: &&Anomaly| self.distance(&alert.entity);
        self.order.sort(&mut alerts, distance, &mut self.stream("alerts"));
        alerts
    }

    /// The incident as a controller gets it: it starts at the alerts, in the order to be tried.
    pub(super) fn case(&self) -> Case {
        let alerts = self.alerts().into_iter().cloned().collect();
        Case::from_anomalies(self.truth.topology().clone(), self.truth.window(), alerts)
    }

    /// Asks about an entity, with what is remembered of others as its inbox. The packet is the one
    /// that EoG would send, but that it shows declared neighbours alone.
    pub(super) fn look(
        &self,
        entity: &EntityId,
        inbox: Vec<Message>,
    ) -> Result<Decision, EvalError> {
        let context = self.truth.get(entity).map(|known| known.context.clone());
        let packet = ContextPacket {
            entity: entity.clone(),
            window: self.truth.window(),
            context: context.unwrap_or_default(),
            neighbours: self.truth.topology().neighbours(entity),
            inbox,
            anomalies: Vec::new(),
            notice: None,
            former: None,
            hints: Vec::new(),
            quoted: Vec::new(),
            reach: None,
            case_file: None,
        };
        Ok(self.oracle.answer(&packet))
    }
}

fn distances(truth: &TruthGraph) -> BTreeMap<EntityId, usize> {
    let mut joined: BTreeMap<&EntityId, Vec<&EntityId>> = BTreeMap::new();
    for (caller, entity) in truth.entities() {
        for callee in &entity.calls {
            joined.entry(caller).or_default().push(callee);
            joined.entry(callee).or_default().push(caller);
        }
    }
    let origins = truth.linked_origins();
    let mut distances: BTreeMap<EntityId, usize> =
        origins.iter().map(|origin| (origin.clone(), 0)).collect();
    let mut queue: VecDeque<(&EntityId, usize)> =
        origins.iter().map(|origin| (origin, 0)).collect();
    while let Some((entity, distance)) = queue.pop_front() {
        for &next in joined.get(entity).into_iter().flatten() {
            if !distances.contains_key(next) {
                distances.insert(next.clone(), distance + 1);
                queue.push_back((next, distance + 1));
            }
        }
    }
    distances
}
