//! Seeds, against their definition word by word, and how many steps they take.

use std::collections::BTreeMap;

use eog_core::{EvidenceKind, Topology};
use proptest::prelude::*;

use super::*;
use crate::paths::effect_path;
use crate::steps::counted;
use crate::worlds::shapes::{Changes, Large, SHAPES};
use crate::worlds::{Small, at, finding, small};

/// Seeds because of changes: for each entity its best change, then the best entities.
fn changed(topology: &Topology, window: Window, incident: &Small) -> Vec<(EntityId, String)> {
    let real = |change: &&Finding| {
        change.signal != Signal::Restart && window.contains(change.time.start())
    };
    let mut best = BTreeMap::new();
    for change in incident.changes.iter().filter(real) {
        let from = change.time.start();
        for anomaly in &incident.anomalies {
            let onset = anomaly.onsets().filter(|onset| *onset > from).min();
            let path = effect_path(topology, &change.entity, &anomaly.entity);
            let Some((onset, path)) = onset.zip(path) else { continue };
            let gap = onset.duration_since(from);
            let (entity, id) = (change.entity.clone(), change.id().clone());
            let key = (gap, path.len(), entity.clone(), id, anomaly.name.clone());
            let detail = change.change.as_ref().unwrap();
            let reason = format!(
                "changed {} at {from}, {} before alert {} on {} ({})",
                change_in_words(detail),
                span_between(from, onset),
                anomaly.name,
                anomaly.entity,
                arrows(&path)
            );
            let known = best.entry(entity).or_insert_with(|| (key.clone(), reason.clone()));
            if key < known.0 {
                *known = (key, reason);
            }
        }
    }
    let mut best: Vec<_> = best.into_values().collect();
    best.sort();
    let seeds = best.into_iter().map(|((_, _, entity, _, _), reason)| (entity, reason));
    seeds.take(MAX_SEEDS_OF_A_KIND).collect()
}

/// Seeds because of failures: for each entity the first, and the anomaly nearest to it.
fn failed(
    topology: &Topology,
    window: Window,
    failures: &[Finding],
    anomalies: &[Anomaly],
) -> Vec<(EntityId, String)> {
    let mut sorted: Vec<&Finding> =
        failures.iter().filter(|failure| window.contains(failure.time.start())).collect();
    sorted.sort_by_key(|failure| (failure.time.start(), failure.entity.clone(), failure.id()));
    let mut seeds: Vec<(EntityId, String)> = Vec::new();
    for failure in sorted {
        let hits = anomalies.iter().filter_map(|anomaly| {
            Some((effect_path(topology, &failure.entity, &anomaly.entity)?, anomaly))
        });
        let nearest = hits.min_by_key(|(path, anomaly)| (path.len(), anomaly.onset));
        let Some((path, anomaly)) = nearest else { continue };
        if seeds.iter().any(|(entity, _)| *entity == failure.entity) {
            continue;
        }
        let reason = format!(
            "failed at {} (it broke), with a path to alert {} ({})",
            failure.time.start(),
            anomaly.name,
            arrows(&path)
        );
        seeds.push((failure.entity.clone(), reason));
    }
    let last = |entity: &EntityId| {
        let inside = failures.iter().filter(|failure| window.contains(failure.time.start()));
        inside.filter(|one| one.entity == *entity).map(|one| one.time.end()).max()
    };
    // A stable order: of those seen last alike the earliest stays first.
    seeds.sort_by_key(|(entity, _)| Reverse(last(entity)));
    seeds.truncate(MAX_SEEDS_OF_A_KIND);
    seeds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn seeds_are_what_their_definition_says(
        incident in small(20),
        broken in small(20),
        (start, end) in (0..40_i64, 41..100_i64),
    ) {
        let Small { topology, changes, anomalies } = &incident;
        let window = Window::new(at(start), at(end)).unwrap();
        let failures: Vec<Finding> = broken
            .changes
            .iter()
            .map(|one| {
                let minute = one.time.start().as_second() / 60;
                let entity = one.entity.as_str();
                finding(EvidenceKind::Event, Signal::Exhaustion, entity, minute, "it broke", None)
            })
            .collect();
        let mut expected = changed(topology, window, &incident);
        for seed in failed(topology, window, &failures, anomalies) {
            if expected.iter().all(|(known, _)| *known != seed.0) {
                expected.push(seed);
            }
        }
        let (topology, changes) = (topology.clone(), changes.clone());
        let given = Incident { topology, changes, failures, ..Incident::default() };
        let found = choose_seeds(&given, window, anomalies).seeds;
        let found: Vec<(EntityId, String)> =
            found.into_iter().map(|seed| (seed.entity, seed.reason)).collect();
        prop_assert_eq!(&found[..expected.len()], &expected[..]);
        let rest = found[expected.len()..].iter();
        prop_assert!(rest.clone().all(|(_, reason)| reason.starts_with("alert ")), "{:?}", rest);
    }
}

/// One search for each changed entity would take thousands of steps for each, and 64 times as many
/// in all when there are 8 times as many entities.
#[test]
fn steps_grow_with_the_incident_and_no_faster() {
    for shape in SHAPES {
        for kind in [Changes::Spread, Changes::Naming] {
            let [small, large] = [1_000, 8_000].map(|entities| {
                let Large { topology, changes, anomalies } = Large::new(entities, shape, kind);
                let given = Incident { topology, changes, ..Incident::default() };
                let window = Window::new(Timestamp::MIN, Timestamp::MAX).unwrap();
                let (steps, start) = counted(|| choose_seeds(&given, window, &anomalies));
                assert!(start.seeds.iter().any(|seed| seed.reason.starts_with("changed ")));
                assert!(steps <= 60 * entities, "{shape:?}, {kind:?}, {entities}: {steps} steps");
                steps
            });
            assert!(large <= 16 * small, "{shape:?}, {kind:?}: {small} and {large} steps");
        }
    }
}
