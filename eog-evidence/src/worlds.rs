//! Incidents for tests.

use eog_core::evidence::{ChangeDetail, EvidenceTime, FindingContent, Signal};
use eog_core::incident::EffectDirection;
use eog_core::{Anomaly, EntityId, EvidenceKind, Finding, Timestamp, Topology};
use proptest::prelude::*;
use proptest::sample::select;

#[path = "../benches/shapes/mod.rs"]
pub(crate) mod shapes;

/// Names that share words, so that a change can speak of several.
const NAMES: [&str; 14] = [
    "a/order",
    "b/order",
    "db",
    "flags",
    "id",
    "mailer",
    "order-history",
    "pay",
    "pay-service",
    "search",
    "stock-search",
    "t/web7",
    "web",
    "x/y/order-history-service",
];

/// An entity that no topology declares.
const STRANGER: &str = "stranger";

/// What changes speak of.
const TEXTS: [&str; 8] = [
    "banner",
    "orderHistoryDown",
    "http://pay:80/order",
    "stockSearch.id",
    "web7",
    "mailer",
    "order",
    "search order-history",
];

pub(crate) fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

pub(crate) fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

/// An incident of few entities.
#[derive(Clone, Debug)]
pub(crate) struct Small {
    pub(crate) topology: Topology,
    pub(crate) changes: Vec<Finding>,
    pub(crate) anomalies: Vec<Anomaly>,
}

/// Incidents with up to so many changes: cycles, chains longer than a path may be, equal times,
/// names that speak of several entities, changes of demand, entities outside of the topology.
pub(crate) fn small(most_changes: usize) -> impl Strategy<Value = Small> {
    let edge = (
        select(&NAMES[..]),
        select(&["calls", "mounts", "sends_load"][..]),
        select(&NAMES[..]),
        select(vec![
            EffectDirection::TargetToSource,
            EffectDirection::SourceToTarget,
            EffectDirection::Both,
        ]),
    );
    let edges = prop::collection::vec(edge, 0..30);
    let chain = prop::option::of(Just(NAMES.to_vec()).prop_shuffle());
    let topology = (edges, chain).prop_map(|(edges, chain)| {
        let mut topology = Topology::default();
        for (source, relation, target, effects) in edges {
            topology.connect(&id(source), relation, &id(target), effects);
        }
        for pair in chain.unwrap_or_default().windows(2) {
            let effects = EffectDirection::SourceToTarget;
            topology.connect(&id(pair[0]), "feeds", &id(pair[1]), effects);
        }
        topology
    });
    let entity = prop_oneof![20 => select(&NAMES[..]), 1 => Just(STRANGER)];
    let changes = prop::collection::vec(change(entity.clone()), 1..=most_changes);
    let anomalies = prop::collection::vec(anomaly(entity), 1..6);
    (topology, changes, anomalies).prop_map(|(topology, changes, anomalies)| Small {
        topology,
        changes,
        anomalies,
    })
}

/// All entities that can be asked about.
pub(crate) fn everybody() -> impl Iterator<Item = EntityId> {
    NAMES.into_iter().chain([STRANGER, "nobody"]).map(id)
}

fn change(entity: impl Strategy<Value = &'static str>) -> impl Strategy<Value = Finding> {
    let signal = prop_oneof![
        6 => Just(Signal::Configuration),
        2 => Just(Signal::Demand),
        1 => Just(Signal::Restart),
    ];
    let texts = (select(&TEXTS[..]), prop::option::of(select(&TEXTS[..])));
    (entity, 0..24_i64, signal, texts).prop_map(|(entity, time, signal, (path, new))| {
        let new = new.map(str::to_owned);
        finding(EvidenceKind::Change, signal, entity, time * 3, path, new)
    })
}

pub(crate) fn finding(
    kind: EvidenceKind,
    signal: Signal,
    entity: &str,
    minute: i64,
    path: &str,
    new: Option<String>,
) -> Finding {
    let detail = ChangeDetail { path: path.into(), old: None, new };
    Finding::new(FindingContent {
        change: (kind == EvidenceKind::Change).then_some(detail),
        excerpt: path.into(),
        ..FindingContent::new(id(entity), kind, signal, EvidenceTime::At(at(minute)))
    })
}

fn anomaly(entity: impl Strategy<Value = &'static str>) -> impl Strategy<Value = Anomaly> {
    let renewed = prop::collection::vec(0..90_i64, 0..3);
    (entity, select(&["Errors", "Slow"][..]), 0..90_i64, renewed).prop_map(
        |(entity, name, onset, renewed)| Anomaly {
            renewed: renewed.into_iter().map(at).collect(),
            ..Anomaly::new(name, id(entity), Signal::Errors, at(onset / 5 * 5))
        },
    )
}
