//! A small application, a truth about it, and every kind of fault.

use std::path::PathBuf;

use eog_simulate::Scenario;

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
pub(crate) fn truth(root: &str, condition: &str) -> String {
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

pub(crate) struct Made {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) architecture: PathBuf,
}

impl Made {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let architecture = folder.path().join("architecture.json");
        std::fs::write(&architecture, ARCHITECTURE).unwrap();
        Self { folder, architecture }
    }

    pub(crate) fn truth(&self, text: &str) -> Scenario {
        let path = self.folder.path().join("truth.yaml");
        std::fs::write(&path, text).unwrap();
        Scenario::read_all(&path).unwrap().usable.remove(0)
    }
}

/// Every kind of fault, with the kind and name of what must be named.
pub(crate) const FAULTS: [(&str, &str, &str); 12] = [
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
