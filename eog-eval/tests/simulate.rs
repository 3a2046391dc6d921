//! Simulated incidents: complete, readable, the same for the same seed, and of use.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use eog_eval::simulate::{Ablation, SimulatedTruth, evaluate, simulate};
use eog_sre::{ReadOptions, Snapshot};

const SIZE: u64 = 1_000_000;

/// Three services behind a generator of load, and a store.
const ARCHITECTURE: &str = r#"{
  "components": {
    "services": [
      {"name": "crowd", "role": "Simulates user traffic"}, {"name": "edge", "type": "Proxy"},
      {"name": "web-service"}, {"name": "basket-service"}, {"name": "mail-service"},
      {"name": "rates-service"}, {"name": "toggles"}],
    "infrastructure": [{"name": "cache", "type": "Cache"}, {"name": "tracing", "type": "Observability"}]},
  "dependencies": [
    {"source": "crowd", "target": "edge"}, {"source": "web-service", "target": "basket-service"},
    {"source": "web-service", "target": "mail-service"}, {"source": "basket-service", "target": "cache"},
    {"source": "web-service", "target": "rates-service"}, {"source": "web-service", "target": "tracing"}]
}"#;

/// A truth with one root cause that breaks the basket, which the web service shows.
fn truth(root: &str, condition: &str) -> String {
    format!(
        r"
id: s
fault: [{{category: Change, condition: '{condition}', fault_mechanism: custom}}]
alerts:
- {{id: RequestErrorRate, group_id: basket}}
- {{id: RequestErrorRate, group_id: web}}
groups:
- {{id: root, root_cause: true, {root}}}
- {{id: basket-pod, kind: Pod, namespace: store, filter: ['basket-.*']}}
- {{id: basket, kind: Service, namespace: store, filter: ['basket\b']}}
- {{id: web, kind: Service, namespace: store, filter: ['web\b']}}
aliases: [[basket, basket-pod]]
propagations:
- {{source: root, target: basket, condition: '{condition}', effect: it fails}}
- {{source: basket, target: web, condition: it fails, effect: calls fail}}
"
    )
}

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

struct Made {
    folder: tempfile::TempDir,
    architecture: PathBuf,
}

impl Made {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let architecture = folder.path().join("architecture.json");
        std::fs::write(&architecture, ARCHITECTURE).unwrap();
        Self { folder, architecture }
    }

    fn truth(&self, text: &str) -> SimulatedTruth {
        let path = self.folder.path().join("truth.yaml");
        std::fs::write(&path, text).unwrap();
        SimulatedTruth::read_all(&path).unwrap().remove(0)
    }

    fn write(&self, truth: &SimulatedTruth, seed: u64, name: &str) -> PathBuf {
        let dir = self.folder.path().join(name);
        simulate(truth, &self.architecture, seed, SIZE, &dir).unwrap();
        dir
    }
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let made = Made::new();
    let truth = made
        .truth(&truth("kind: ConfigMap, namespace: store, name: toggles-config", "a flag is set"));
    let [one, again, other] =
        [(7, "a"), (7, "b"), (8, "c")].map(|(seed, name)| files(&made.write(&truth, seed, name)));
    assert!(one == again);
    assert!(one != other);
}

/// Every kind of fault, with the kind and name of what must be named.
const FAULTS: [(&str, &str, &str); 12] = [
    (
        "kind: ConfigMap, namespace: store, name: toggles-config",
        "a flag is set",
        "store/ConfigMap/toggles-config",
    ),
    (
        "kind: ConfigMap, namespace: store, name: basket-limits",
        "a wrong value",
        "store/ConfigMap/basket-limits",
    ),
    (
        "kind: Deployment, namespace: store, filter: ['basket\\b']",
        "an invalid image",
        "store/Deployment/basket",
    ),
    (
        "kind: Deployment, namespace: store, filter: ['basket-.*']",
        "an environment variable",
        "store/Deployment/basket-",
    ),
    (
        "kind: Deployment, namespace: store, filter: ['basket\\b']",
        "scaled to zero replicas",
        "store/Deployment/basket",
    ),
    (
        "kind: Deployment, namespace: store, filter: ['basket\\b']",
        "memory limit too low",
        "store/Deployment/basket",
    ),
    (
        "kind: StatefulSet, namespace: store, filter: ['basket\\b']",
        "a wrong command",
        "store/StatefulSet/basket",
    ),
    (
        "kind: Pod, namespace: store, filter: ['basket-.*']",
        "invalid node selector",
        "store/Pod/basket-",
    ),
    (
        "kind: NetworkPolicy, namespace: store, filter: ['block-all']",
        "a policy blocks",
        "store/NetworkPolicy/block-all",
    ),
    (
        "kind: NetworkChaos, namespace: chaos, filter: ['.*cut']",
        "a partition",
        "chaos/NetworkChaos/cut",
    ),
    ("kind: Schedule, namespace: chaos, filter: ['burn']", "cpu stress", "chaos/Schedule/burn"),
    (
        "kind: ResourceQuota, namespace: store, name: small",
        "memory quota",
        "store/ResourceQuota/small",
    ),
];

#[test]
fn every_fault_makes_a_snapshot_that_is_read_without_a_warning() {
    let made = Made::new();
    for (number, (root, condition, expected)) in FAULTS.into_iter().enumerate() {
        let truth = made.truth(&truth(root, condition));
        let dir = made.write(&truth, 3, &format!("fault-{number}"));
        let options =
            ReadOptions { architecture: Some(made.architecture.clone()), ..ReadOptions::default() };
        let snapshot = Snapshot::open(&dir, &options).unwrap();
        assert_eq!(snapshot.warnings(), [] as [String; 0], "{root}");
        let graph = snapshot.graph();
        let named = |entity: &&eog::EntityId| entity.as_str().starts_with(expected);
        assert!(graph.topology().entities().any(|entity| named(&entity)), "{expected}");
        let incident = snapshot.incident(&graph);
        assert!(
            incident.anomalies.iter().any(|alert| alert.entity.as_str() == "store/Service/web")
        );
        assert!(incident.changes.len() >= 3, "{}", incident.changes.len());
        // What is read back is the truth that it was made from.
        let read = SimulatedTruth::read_all(&dir.join("ground_truth.yaml")).unwrap();
        assert_eq!(read[0].truth.root_causes(), truth.truth.root_causes());
    }
}

#[test]
fn a_simulated_incident_is_investigated_and_scored() {
    let made = Made::new();
    let truth = made
        .truth(&truth("kind: ConfigMap, namespace: store, name: toggles-config", "a flag is set"));
    let parts = [Ablation::Whole, Ablation::Changes];
    let report = evaluate(&[truth], &made.architecture, 1, SIZE, &parts, |_| {}).unwrap();
    assert_eq!(report.means(Ablation::Whole).unwrap().2, 1.0, "{report:#?}");
    assert_eq!(report.means(Ablation::Changes).unwrap().0, 0.0, "{report:#?}");
    assert_eq!(report.to_csv().lines().count(), 3);
}

/// Another application than that of the data set, and every kind of fault.
#[test]
fn causes_of_every_kind_are_found_and_little_else_is_named() {
    let made = Made::new();
    let truths: Vec<SimulatedTruth> = FAULTS
        .iter()
        .enumerate()
        .map(|(number, (root, condition, _))| {
            let mut one = made.truth(&truth(root, condition));
            one.scenario = format!("{number}");
            one
        })
        .collect();
    let whole = [Ablation::Whole];
    let report = evaluate(&truths, &made.architecture, 2, SIZE, &whole, |_| {}).unwrap();
    println!("{report}");
    let (f1, _, recall) = report.means(Ablation::Whole).unwrap();
    assert!(recall >= 0.9 && f1 >= 0.8, "{}", report.to_csv());
    assert!(report.baselines().values().all(|f1| *f1 <= 0.5));
}

#[test]
fn the_second_form_of_truth_is_simulated_too() {
    let made = Made::new();
    let text = r#"{"spec": {"alerts": [], "solutions": [], "entities": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "basket", "namespace": "store"}}]}}"#;
    let truth = made.truth(text);
    let dir = made.write(&truth, 1, "second");
    let snapshot = Snapshot::open(&dir, &ReadOptions::default()).unwrap();
    assert_eq!(snapshot.warnings(), [] as [String; 0]);
}

#[test]
fn it_is_told_when_less_cannot_be_written() {
    let made = Made::new();
    let truth = made.truth(&truth("kind: Pod, namespace: store, name: basket-a-b", "it is lost"));
    let write = |size: u64, name: &str| {
        simulate(&truth, &made.architecture, 1, size, &made.folder.path().join(name)).unwrap()
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
    let error = simulate(&truth, &made.architecture, 1, 10, &dir).unwrap_err().to_string();
    assert!(error.contains("10 bytes were asked for"), "{error}");
    let there = made.folder.path().to_owned();
    let error = simulate(&truth, &made.architecture, 1, SIZE, &there).unwrap_err().to_string();
    assert!(error.starts_with("cannot use"), "{error}");
}
