//! The definition of an effect map, word by word: paths are searched one by one, names compared
//! pair by pair. Far too slow for use, and easy to compare with the documentation.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::{ChangeDetail, PeerRole, Signal};
use eog_core::incident::to_the_second;
use eog_core::{Anomaly, EntityId, EvidenceKind, Finding, Timestamp, Topology};
use jiff::SignedDuration;

use super::cause::MAX_NOTES;
use super::choice::MAX_QUALIFYING;
use super::nearest::ABOUT_AS_NEAR;
use crate::names::reference::naming;
use crate::paths::{MAX_PATH_HOPS, demand_path, effect_path};
use crate::text::arrows;

/// What a note should say: signal, next hop, change, time, and how its text ends.
pub(super) type ExpectedNote =
    (Signal, Option<(EntityId, PeerRole)>, ChangeDetail, Timestamp, String);

/// A qualifying change with what follows it.
#[derive(Clone)]
pub(super) struct Cause {
    pub(super) change: Finding,
    gap: SignedDuration,
    hops: usize,
    effects: Vec<Effect>,
}

#[derive(Clone)]
struct Effect {
    alert: (String, EntityId, Timestamp),
    path: Vec<EntityId>,
}

impl Effect {
    fn onset(&self) -> Timestamp {
        self.alert.2
    }
}

/// The qualifying changes, strongest first.
pub(super) fn causes(
    topology: &Topology,
    changes: &[Finding],
    anomalies: &[Anomaly],
) -> Vec<Cause> {
    let real =
        |change: &&Finding| change.kind == EvidenceKind::Change && change.signal != Signal::Restart;
    let mut causes: Vec<Cause> = Vec::new();
    for change in changes.iter().filter(real) {
        let at = change.time.start();
        let mut effects = Vec::new();
        for anomaly in anomalies {
            let onset = anomaly.onsets().filter(|onset| *onset > at).min();
            let path = path(topology, change, &anomaly.entity);
            let alert = onset.map(|onset| (anomaly.name.clone(), anomaly.entity.clone(), onset));
            effects.extend(alert.zip(path).map(|(alert, path)| Effect { alert, path }));
        }
        let (gap, hops) = (SignedDuration::ZERO, 0);
        causes.push(Cause { change: change.clone(), gap, hops, effects });
    }
    give_way(&mut causes);
    causes.retain(|cause| !cause.effects.is_empty());
    for cause in &mut causes {
        let first = cause.effects.iter().map(|effect| (effect.onset(), effect.path.len())).min();
        let (onset, length) = first.unwrap();
        cause.gap = onset.duration_since(cause.change.time.start());
        cause.hops = length - 1;
    }
    causes.sort_by_key(|cause| {
        let change = &cause.change;
        (cause.gap, cause.hops, change.entity.clone(), change.id().clone())
    });
    causes.dedup_by(|a, b| a.change.id() == b.change.id());
    causes.truncate(MAX_QUALIFYING);
    causes
}

/// Takes from each change what another precedes much more closely.
fn give_way(causes: &mut [Cause]) {
    let gap =
        |cause: &Cause, effect: &Effect| effect.onset().duration_since(cause.change.time.start());
    let mut least: BTreeMap<_, SignedDuration> = BTreeMap::new();
    for cause in causes.iter().filter(|cause| cause.change.signal != Signal::Demand) {
        for effect in &cause.effects {
            let known = least.entry(effect.alert.clone()).or_insert(SignedDuration::MAX);
            *known = gap(cause, effect).min(*known);
        }
    }
    for cause in causes.iter_mut().filter(|cause| cause.change.signal != Signal::Demand) {
        let of = cause.clone();
        cause.effects.retain(|effect| {
            let least = least[&effect.alert];
            gap(&of, effect) <= least.saturating_add(ABOUT_AS_NEAR.max(least / 2))
        });
    }
}

/// The notes expected on an entity.
pub(super) fn expected_notes(
    topology: &Topology,
    causes: &[Cause],
    entity: &EntityId,
) -> Vec<ExpectedNote> {
    let mut routes = Vec::new();
    let mut taken = BTreeSet::new();
    for cause in causes.iter().filter(|cause| cause.change.entity != *entity) {
        let Some(path) = path(topology, &cause.change, entity) else { continue };
        let before = path[path.len() - 2].clone();
        if taken.insert((cause.change.entity.clone(), before.clone())) {
            let peer = Some((before, PeerRole::NextUpstream));
            let (at, detail) = (cause.change.time.start(), cause.change.change.clone().unwrap());
            let text = format!("can reach here by {}", arrows(&path));
            routes.push((Signal::Route, peer, detail, at, text));
        }
    }
    let mut impacts: Vec<(&Effect, &Finding)> = Vec::new();
    for own in causes.iter().filter(|cause| cause.change.entity == *entity) {
        impacts.extend(own.effects.iter().map(|effect| (effect, &own.change)));
    }
    impacts.sort_by_key(|(effect, change)| {
        let at = Reverse(change.time.start());
        (effect.onset(), at, effect.path.len(), effect.alert.clone())
    });
    let mut taken = BTreeSet::new();
    impacts.retain(|(effect, _)| taken.insert((&effect.alert.0, &effect.alert.1)));
    let impacts = impacts.into_iter().map(|(effect, change)| {
        let (alert, affected, onset) = &effect.alert;
        let next = effect.path.get(1).cloned().map(|next| (next, PeerRole::NextDownstream));
        let text = format!("alert {alert} on {affected} followed at {}", to_the_second(*onset));
        let text = format!("{text} by {}", arrows(&effect.path));
        (Signal::Impact, next, change.change.clone().unwrap(), *onset, text)
    });
    routes.into_iter().take(MAX_NOTES).chain(impacts.take(MAX_NOTES)).collect()
}

/// The path of a change to an entity.
fn path(topology: &Topology, change: &Finding, end: &EntityId) -> Option<Vec<EntityId>> {
    let start = &change.entity;
    let direct = effect_path(topology, start, end);
    if change.signal == Signal::Demand {
        let by_load = demand_path(topology, start, end);
        return by_load.into_iter().chain(direct).min_by_key(Vec::len);
    }
    through_named(topology, change, end).or(direct)
}

fn through_named(topology: &Topology, change: &Finding, end: &EntityId) -> Option<Vec<EntityId>> {
    let detail = change.change.as_ref()?;
    let others = topology.entities().filter(|entity| **entity != change.entity);
    let named = others.filter_map(|entity| {
        let naming = naming(detail, entity);
        let path = effect_path(topology, &change.entity, entity).filter(|_| naming.words > 0)?;
        Some((Reverse(naming), path.len(), entity, path))
    });
    let (_, _, named, mut path) = named.min()?;
    path.extend(effect_path(topology, named, end)?.into_iter().skip(1));
    let distinct: BTreeSet<&EntityId> = path.iter().collect();
    (distinct.len() == path.len() && path.len() <= MAX_PATH_HOPS + 1).then_some(path)
}
