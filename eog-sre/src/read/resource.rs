//! Who sent a piece of telemetry: the resource attributes, read once for each distinct text.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::pydict;

/// Most distinct texts that are remembered.
const MAX_REMEMBERED: usize = 50_000;

/// The sender of a span or log line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) service: String,
    pub(crate) namespace: String,
    pub(crate) pod: String,
    /// Kind and name of the workload, if the sender says it.
    pub(crate) workload: Option<(&'static str, String)>,
    pub(crate) node: String,
}

/// Attribute names that hold a workload, by kind.
const WORKLOADS: [(&str, &str); 3] = [
    ("k8s.deployment.name", "Deployment"),
    ("k8s.statefulset.name", "StatefulSet"),
    ("k8s.daemonset.name", "DaemonSet"),
];

/// Remembers what each text meant. Used for look-ups alone, never iterated.
#[derive(Default)]
pub(crate) struct Resources {
    known: HashMap<(String, String), Arc<Resource>>,
    texts: HashMap<String, Arc<str>>,
}

impl Resources {
    pub(crate) fn resource(&mut self, service: &str, attributes: &str) -> Arc<Resource> {
        let key = (service.to_owned(), attributes.to_owned());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let resource = Arc::new(Resource::read(service, &pydict::parse(attributes)));
        if self.known.len() < MAX_REMEMBERED {
            self.known.insert(key, resource.clone());
        }
        resource
    }

    /// One shared copy of a text that comes up often.
    pub(crate) fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let shared: Arc<str> = text.into();
        if self.texts.len() < MAX_REMEMBERED {
            self.texts.insert(text.to_owned(), shared.clone());
        }
        shared
    }
}

impl Resource {
    fn read(service: &str, attributes: &BTreeMap<String, String>) -> Self {
        let get = |name: &str| attributes.get(name).cloned().unwrap_or_default();
        let service = if service.trim().is_empty() { get("service.name") } else { service.into() };
        let workload = WORKLOADS.iter().find_map(|(name, kind)| {
            let value = attributes.get(*name).filter(|value| !value.is_empty())?;
            Some((*kind, value.clone()))
        });
        Self {
            service,
            namespace: get("k8s.namespace.name"),
            pod: get("k8s.pod.name"),
            workload,
            node: get("k8s.node.name"),
        }
    }
}
