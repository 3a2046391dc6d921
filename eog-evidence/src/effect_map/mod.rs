//! Which change can have caused which anomaly: the notes that a context contract adds.
//!
//! There may be very many changes, and each reaches a large part of the topology. So nothing is
//! searched from each of them:
//!
//! - which anomalies a change reaches, and how far they are, is searched backwards from the
//!   anomalies, 64 of them at a time ([`Alarms`]);
//! - what changes name is searched for only for those that may be among the strongest;
//! - how the strongest reach an entity that is asked about is searched from all of them together,
//!   when the first one is asked about ([`roads`]).

mod cause;
mod choice;
mod nearest;
#[cfg(test)]
mod reference;
mod roads;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use eog_core::contract::Route;
use eog_core::evidence::{PeerRole, Signal};
use eog_core::incident::Onset;
use eog_core::{Anomaly, EntityId, Finding, Topology};

use crate::alarms::Alarms;
use crate::signs::{is_executed_experiment, is_worse, role};
use crate::ways::Ways;
use cause::{Impact, MAX_NOTES, Qualifying};
use choice::{Chosen, can_cause, choose};
use roads::{Reached, Road};

pub(crate) use nearest::ABOUT_AS_NEAR;

/// Per entity: which change elsewhere can have reached it, and which anomaly its own change can
/// have caused. Computed once per incident.
///
/// A change *qualifies* when it is no mere restart and strictly precedes an onset, first or
/// renewed, of an anomaly that its effects reach; a change of demand reaches by load as well
/// ([`demand_path`](crate::demand_path)), whichever is shorter. It does not qualify for an onset
/// that another change precedes much more closely: a change that is more than 5 minutes and more
/// than half as long again farther away gives way. A change of demand neither gives way nor makes
/// others give way, since load builds up. Nor does it qualify for an onset that a fault experiment
/// precedes about as closely, if an event among the findings says that the experiment ran: that does
/// harm by design.
///
/// The order of qualifying changes is the same for every entity, so that all entities on a path
/// follow the same change: the smallest time to the first following onset, then the shorter path
/// to that anomaly, then the entity's name, then the id.
///
/// When the text of a change *names* an entity that its effects reach, paths lead through that
/// entity where they can: a setting that speaks of one component acts on that component. A name is
/// matched by whole words (`payFailure` names `pay`); common words never match. Of several the
/// one with the most words is taken, then the nearest, then the first by name.
///
/// ```
/// use eog_core::{Anomaly, EntityId, Topology};
/// use eog_core::incident::EffectDirection;
/// use eog_evidence::EffectMap;
/// let (cart, db) = (EntityId::new("cart")?, EntityId::new("db")?);
/// let mut topology = Topology::default();
/// topology.connect(&cart, "calls", &db, EffectDirection::TargetToSource);
/// let map = EffectMap::new(&topology, &[], &[]);
/// assert!(map.notes(&cart).findings.is_empty());
/// # Ok::<(), eog_core::InvalidId>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct EffectMap {
    /// Strongest first.
    changes: Vec<Qualifying>,
    /// By entity what its own changes can have caused, as notes give it.
    impacts: BTreeMap<EntityId, Vec<Impact>>,
    /// Nothing when no change qualifies.
    net: Option<Arc<Net>>,
}

/// What an effect map says about one entity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// All of kind [`EvidenceKind::Note`](eog_core::EvidenceKind::Note); routes first.
    pub findings: Vec<Finding>,
    /// The ways that the notes give, hop by hop.
    pub routes: Vec<Route>,
}

/// The topology, and how the qualifying changes reach it.
#[derive(Debug)]
struct Net {
    ways: Arc<Ways>,
    /// Searched when an entity is asked about.
    reached: OnceLock<Reached>,
}

/// When the harm began that an alert first reported, by findings on its entity: what the entity itself
/// does worse of the kind that the alert speaks of. The first of several measurements counts. Nothing
/// when none was dated, or when all began surely after the alert, which then reported something else.
pub fn harm_of_alert<'a>(
    alert: &Anomaly,
    findings: impl IntoIterator<Item = &'a Finding>,
) -> Option<Onset> {
    let is_harm = |finding: &&Finding| {
        finding.entity == alert.entity
            && finding.signal == alert.signal
            && role(finding) != Some(PeerRole::Callee)
            && is_worse(finding)
    };
    let onsets = findings.into_iter().filter(is_harm).filter_map(|finding| finding.onset);
    let first = onsets
        .reduce(|a, b| Onset::between(a.earliest().min(b.earliest()), a.latest().min(b.latest())));
    first.filter(|harm| harm.earliest() <= alert.onset)
}

impl EffectMap {
    /// Finds the qualifying changes. `changes` may hold findings that are not changes and
    /// restarts; both are passed over, but for events that say that an experiment ran.
    pub fn new(topology: &Topology, changes: &[Finding], anomalies: &[Anomaly]) -> Self {
        if changes.is_empty() || anomalies.is_empty() {
            return Self::default();
        }
        Self::dated(topology, changes, anomalies, |_| None)
    }

    /// The same where it is known when the harm began that alerts first reported (see
    /// [`harm_of_alert`]): a change that was surely made later does not qualify for it, and how
    /// near a change lies is measured to the harm, not to the alert.
    pub fn dated(
        topology: &Topology,
        changes: &[Finding],
        anomalies: &[Anomaly],
        harm_of: impl Fn(&Anomaly) -> Option<Onset>,
    ) -> Self {
        let ways = Arc::new(Ways::of(topology, changes, anomalies));
        Self::over(ways, changes, anomalies, harm_of)
    }

    /// The same over the ways of a topology with these changes and anomalies.
    pub(crate) fn over(
        ways: Arc<Ways>,
        changes: &[Finding],
        anomalies: &[Anomaly],
        harm_of: impl Fn(&Anomaly) -> Option<Onset>,
    ) -> Self {
        let last = anomalies.iter().flat_map(Anomaly::onsets).max();
        let precedes = |change: &&Finding| last.is_some_and(|last| change.time.start() < last);
        let causes = || changes.iter().filter(|change| can_cause(change)).filter(precedes);
        if causes().next().is_none() {
            return Self::default();
        }
        let is_demand = causes().any(|change| change.signal == Signal::Demand);
        let mut alarms = Alarms::new(&ways, anomalies, is_demand);
        alarms.date(harm_of);
        let ran = changes.iter().filter(|finding| is_executed_experiment(finding));
        let ran = ran.filter_map(|event| ways.number(&event.entity)).collect();
        let Chosen { changes, impacts } = choose(&ways, causes(), &ran, &alarms);
        let is_any = !changes.is_empty();
        let net = is_any.then(|| Arc::new(Net { ways, reached: OnceLock::new() }));
        Self { changes, impacts, net }
    }

    /// The notes on one entity.
    ///
    /// - Signal [`Signal::Route`]: a change elsewhere whose effects reach the entity. The peer is
    ///   the next hop towards it, `change` its detail, the time that of the change. The trend is
    ///   `rising` when the change is one of demand, so that it explains only an entity whose
    ///   traffic rose; else `steady`. At most three, strongest first, one for each changed entity
    ///   and next hop.
    /// - Signal [`Signal::Impact`]: an anomaly that the entity's own change precedes and reaches.
    ///   The peer is the next hop towards it (none when the anomaly is on the entity itself),
    ///   `change` the detail of the change, the time that of the onset. At most three anomalies,
    ///   earliest onset first.
    pub fn notes(&self, entity: &EntityId) -> Notes {
        let mut notes = Notes::default();
        for (finding, hops) in self.routes(entity) {
            notes.routes.push(Route { finding: finding.id().clone(), hops });
            notes.findings.push(finding);
        }
        for (finding, hops) in self.impacts(entity) {
            notes.routes.push(Route { finding: finding.id().clone(), hops });
            notes.findings.push(finding);
        }
        notes
    }

    /// The qualifying changes, strongest first.
    pub fn qualifying(&self) -> impl Iterator<Item = &Finding> {
        self.changes.iter().map(|qualifying| &qualifying.change)
    }

    /// Notes on routes, each with the hops from its change to the entity.
    fn routes(&self, entity: &EntityId) -> Vec<(Finding, Vec<EntityId>)> {
        let Some(net) = &self.net else { return Vec::new() };
        let Some(number) = net.ways.number(entity) else { return Vec::new() };
        let roads = || self.changes.iter().map(|change| &change.road);
        let reached = net.reached.get_or_init(|| Reached::new(&net.ways, roads()));
        let (mut ways, mut taken) = (BTreeSet::new(), BTreeSet::new());
        let others = self.changes.iter().filter(|other| other.change.entity != *entity);
        others
            .filter_map(|other| {
                let Road { start, is_demand, .. } = other.road;
                if !ways.insert((start, is_demand, other.road.named_entity())) {
                    return None;
                }
                let path = net.ways.named(&reached.path(&net.ways, &other.road, number)?);
                let before = path.get(path.len().checked_sub(2)?)?.clone();
                let new = taken.insert((other.change.entity.clone(), before.clone()));
                new.then(|| (other.route_note(&path, &before), path))
            })
            .take(MAX_NOTES)
            .collect()
    }

    /// Notes on impacts, each with the hops from the entity to the anomaly.
    fn impacts(&self, entity: &EntityId) -> impl Iterator<Item = (Finding, Vec<EntityId>)> {
        let own = self.impacts.get(entity).into_iter().flatten();
        own.filter_map(|impact| {
            Some((self.changes.get(impact.place)?.impact_note(impact), impact.path.clone()))
        })
    }
}
