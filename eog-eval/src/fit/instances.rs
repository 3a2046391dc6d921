//! What weights are fitted on: the values of all terms, for every entity of every incident.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use eog::contract::{ContextPacket, Reach};
use eog::{Belief, Case, ContextRequest, EntityId, LocalContext, Message};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, open_case};

use crate::error::EvalError;
use crate::generated::{self, Kind};
use crate::suite::{SuiteCase, cases_of};

/// One incident: its entities with the values of all terms, and which of them are causes.
#[derive(Clone, Debug)]
pub(super) struct Incident {
    pub(super) entities: Vec<EntityId>,
    /// By entity, in the order of the terms.
    pub(super) values: Vec<Vec<f64>>,
    pub(super) causes: BTreeSet<EntityId>,
}

/// The incidents of one system, those with a known cause that is one of its entities.
#[derive(Clone, Debug)]
pub(super) struct System {
    pub(super) name: String,
    pub(super) incidents: Vec<Incident>,
}

impl System {
    /// Reads a folder of bundles with truths beside them; the folder's name is that of the system.
    pub(super) fn read(dir: &Path) -> Result<Self, EvalError> {
        let name = dir.file_name().map_or_else(String::new, |name| name.display().to_string());
        let cases = cases_of(dir)?.into_iter();
        Self::of(name, cases.map(|case| SuiteCase::read(dir, &case, false)))
    }

    /// Makes so many incidents of a kind of system.
    pub(super) fn generated(kind: Kind, incidents: u64) -> Result<Self, EvalError> {
        let cases = (1..=incidents).map(|seed| generated::case(kind.into(), seed, false));
        Self::of(format!("generated {}", kind.name()), cases)
    }

    fn of(
        name: String,
        cases: impl Iterator<Item = Result<SuiteCase, EvalError>>,
    ) -> Result<Self, EvalError> {
        let mut incidents = Vec::new();
        for case in cases {
            let SuiteCase { name, bundle, truth, .. } = case?;
            let incident = Incident::of(&name, bundle, truth.causes)?;
            if incident.entities.iter().any(|entity| incident.causes.contains(entity)) {
                incidents.push(incident);
            }
        }
        Ok(Self { name, incidents })
    }
}

impl Incident {
    /// Reads every entity twice: alone, then with what its neighbours' messages say in numbers, as in an investigation
    /// that reads all there is.
    pub(super) fn of(
        name: &str,
        bundle: Bundle,
        causes: BTreeSet<EntityId>,
    ) -> Result<Self, EvalError> {
        let opened = open_case(&bundle.incident(), None);
        let case = opened.map_err(|error| EvalError::Case {
            case: name.to_owned(),
            reason: error.to_string(),
        })?;
        let alerting: BTreeSet<&EntityId> =
            case.anomalies.iter().map(|alert| &alert.entity).collect();
        let context = BundleContext::new(bundle);
        let all: BTreeSet<EntityId> =
            case.topology.entities().chain(alerting.iter().copied()).cloned().collect();
        let mut packets: BTreeMap<EntityId, ContextPacket> = all
            .into_iter()
            .map(|entity| (entity.clone(), packet(entity, &case, &alerting, &context)))
            .collect();
        let policy = EvidencePolicy::default();
        let beliefs: BTreeMap<EntityId, Belief> = packets
            .iter()
            .map(|(entity, packet)| {
                let decision = policy.judge(packet);
                let belief = Belief::new(decision.label, decision.summary);
                (
                    entity.clone(),
                    Belief { measures: decision.measures.map(|measures| *measures), ..belief },
                )
            })
            .collect();
        for packet in packets.values_mut() {
            let others: BTreeSet<EntityId> =
                packet.neighbours.iter().map(|row| row.entity.clone()).collect();
            let messages = others.into_iter().filter_map(|sender| {
                let belief = beliefs.get(&sender)?.clone();
                Some(Message { sender, belief })
            });
            packet.inbox = messages.collect();
        }
        let values = packets.values().map(EvidencePolicy::values).collect();
        Ok(Self { entities: packets.into_keys().collect(), values, causes })
    }

    pub(super) fn is_cause(&self, place: usize) -> bool {
        self.entities.get(place).is_some_and(|entity| self.causes.contains(entity))
    }
}

fn packet(
    entity: EntityId,
    case: &Case,
    alerting: &BTreeSet<&EntityId>,
    context: &BundleContext,
) -> ContextPacket {
    let reach = Reach::of(&case.topology, alerting, &entity);
    let own = case.anomalies.iter().filter(|alert| alert.entity == entity);
    ContextPacket {
        window: case.window,
        context: read(&entity, case, context),
        neighbours: case.topology.neighbours(&entity),
        inbox: Vec::new(),
        anomalies: own.cloned().collect(),
        notice: None,
        former: None,
        hints: Vec::new(),
        quoted: Vec::new(),
        reach: Some(reach),
        case_file: None,
        queries_left: 0,
        entity,
    }
}

/// What an investigation reads of it at first.
fn read(entity: &EntityId, case: &Case, context: &BundleContext) -> LocalContext {
    context.local_context(&ContextRequest {
        entity: entity.clone(),
        window: case.window,
        page: 1,
        visit: 1,
        changed_neighbours: BTreeSet::new(),
        query: None,
    })
}
