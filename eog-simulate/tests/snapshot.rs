//! Written snapshots: complete, readable, and the same for the same seed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use eog_simulate::Scenario;
use eog_simulate::snapshot::{Harmless, simulate};
use eog_sre::{ReadOptions, Snapshot};
use support::{FAULTS, Made, truth};

const SIZE: u64 = 1_000_000;

/// All files of a folder with their content, by their paths in it.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn write(made: &Made, truth: &Scenario, seed: u64, name: &str) -> PathBuf {
    let dir = made.folder.path().join(name);
    simulate(truth, &made.architecture, Harmless::default(), seed, SIZE, &dir).unwrap();
    dir
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let made = Made::new();
    let truth = made
        .truth(&truth("kind: ConfigMap, namespace: store, name: toggles-config", "a flag is set"));
    let [one, again, other] =
        [(7, "a"), (7, "b"), (8, "c")].map(|(seed, name)| files(&write(&made, &truth, seed, name)));
    assert!(one == again);
    assert!(one != other);
}

#[test]
fn every_fault_makes_a_snapshot_that_is_read_without_a_warning() {
    let made = Made::new();
    for (number, (root, condition, expected)) in FAULTS.into_iter().enumerate() {
        let truth = made.truth(&truth(root, condition));
        let dir = write(&made, &truth, 3, &format!("fault-{number}"));
        let options =
            ReadOptions { architecture: Some(made.architecture.clone()), ..ReadOptions::default() };
        let snapshot = Snapshot::open(&dir, &options).unwrap();
        assert_eq!(snapshot.warnings(), [] as [String; 0], "{root}");
        let graph = snapshot.graph();
        let named = |entity: &&eog_core::EntityId| entity.as_str().starts_with(expected);
        assert!(graph.topology().entities().any(|entity| named(&entity)), "{expected}");
        let incident = snapshot.incident(&graph);
        assert!(
            incident.anomalies.iter().any(|alert| alert.entity.as_str() == "store/Service/web")
        );
        assert!(incident.changes.len() >= 2, "{}", incident.changes.len());
        // What is read back is the truth that it was made from.
        let read = Scenario::read_all(&dir.join("ground_truth.yaml")).unwrap().usable.remove(0);
        assert_eq!((read.groups, read.propagations), (truth.groups, truth.propagations));
        assert_eq!((read.faults, read.alerts), (truth.faults, truth.alerts));
    }
}

#[test]
fn the_second_form_of_truth_is_simulated_too() {
    let made = Made::new();
    let text = r#"{"spec": {"alerts": [], "solutions": [], "entities": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "basket", "namespace": "store"}}]}}"#;
    let truth = made.truth(text);
    let dir = write(&made, &truth, 1, "second");
    let snapshot = Snapshot::open(&dir, &ReadOptions::default()).unwrap();
    assert_eq!(snapshot.warnings(), [] as [String; 0]);
}

#[test]
fn it_is_reported_when_less_cannot_be_written() {
    let made = Made::new();
    let truth = made.truth(&truth("kind: Pod, namespace: store, name: basket-a-b", "it is lost"));
    let write = |size: u64, name: &str| {
        simulate(
            &truth,
            &made.architecture,
            Harmless::default(),
            1,
            size,
            &made.folder.path().join(name),
        )
        .unwrap()
    };
    let least = write(SIZE, "least");
    assert!(least.is_least && least.bytes > SIZE, "{least:?}");
    let more = write(3 * least.bytes, "more");
    assert!(!more.is_least && more.requests > least.requests, "{more:?}");
}

#[test]
fn what_cannot_be_simulated_says_why() {
    let made = Made::new();
    let truth = made.truth(&truth("kind: Pod, namespace: store, name: basket-a-b", "it is lost"));
    let dir = made.folder.path().join("small");
    let error = simulate(&truth, &made.architecture, Harmless::default(), 1, 10, &dir)
        .unwrap_err()
        .to_string();
    assert!(error.contains("10 bytes were requested"), "{error}");
    let there = made.folder.path().to_owned();
    let error = simulate(&truth, &made.architecture, Harmless::default(), 1, SIZE, &there)
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot use"), "{error}");
}

#[test]
fn harmless_changes_fall_evenly_over_the_recording() {
    let made = Made::new();
    let truth = made
        .truth(&truth("kind: ConfigMap, namespace: store, name: toggles-config", "a flag is set"));
    let (mut near, mut all) = (0_i32, 0_i32);
    for seed in 1..=6 {
        let dir = made.folder.path().join(format!("even-{seed}"));
        let harmless = Harmless { per_hour: 60, decoys: 0 };
        simulate(&truth, &made.architecture, harmless, seed, SIZE, &dir).unwrap();
        let options =
            ReadOptions { architecture: Some(made.architecture.clone()), ..ReadOptions::default() };
        let snapshot = Snapshot::open(&dir, &options).unwrap();
        let incident = snapshot.incident(&snapshot.graph());
        let cause = |change: &&eog_core::Finding| change.entity.as_str().contains("toggles-config");
        let fault = incident.changes.iter().find(cause).unwrap().time.start();
        for change in incident.changes.iter().filter(|change| !cause(change)) {
            let minutes = change.time.start().duration_since(fault).as_secs_f64() / 60.0;
            all += 1;
            near += i32::from((-8.0..7.0).contains(&minutes));
        }
    }
    // A quarter of the recording is within 8 minutes before and 7 minutes after the fault.
    let share = f64::from(near) / f64::from(all);
    assert!(all > 100 && (0.1..0.45).contains(&share), "{near} of {all}");
}
