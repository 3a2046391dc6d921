//! Who sent a piece of telemetry: the resource attributes, read once for each distinct text.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::bounded;
use crate::pydict;

/// Most distinct texts that are remembered.
const MAX_REMEMBERED: usize = 50_000;

/// Longest text whose conversion is remembered, in bytes.
const MAX_CONVERTED: usize = 4096;

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
pub(crate) const WORKLOADS: [(&str, &str); 3] = [
    ("k8s.deployment.name", "Deployment"),
    ("k8s.statefulset.name", "StatefulSet"),
    ("k8s.daemonset.name", "DaemonSet"),
];

/// The service of a sender as it was given, and the sender.
type Known = (Box<str>, Arc<Resource>);

/// Remembers what each text meant. Used for look-ups alone, never iterated.
#[derive(Default)]
pub(crate) struct Resources {
    /// By attributes, then by service, of which there is nearly always one.
    known: HashMap<Box<str>, Vec<Known>>,
    resources: usize,
    texts: HashSet<Arc<str>>,
    conversions: HashMap<Box<str>, Arc<str>>,
}

impl Resources {
    pub(crate) fn resource(&mut self, service: &str, attributes: &str) -> Arc<Resource> {
        let mut known = self.known.get(attributes).into_iter().flatten();
        if let Some((_, resource)) = known.find(|(of, _)| **of == *service) {
            return resource.clone();
        }
        let resource = Arc::new(Resource::read(service, &pydict::parse(attributes)));
        if self.resources < MAX_REMEMBERED {
            self.resources += 1;
            let new = (service.into(), resource.clone());
            match self.known.get_mut(attributes) {
                Some(known) => known.push(new),
                None => drop(self.known.insert(attributes.into(), vec![new])),
            }
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
            self.texts.insert(shared.clone());
        }
        shared
    }

    /// What a text of limited variety becomes, worked out once for each text.
    pub(crate) fn converted(
        &mut self,
        text: &str,
        convert: impl FnOnce(&str) -> String,
    ) -> Arc<str> {
        if let Some(known) = self.conversions.get(text) {
            return known.clone();
        }
        let shared = self.text(&convert(text));
        if self.conversions.len() < MAX_REMEMBERED && text.len() <= MAX_CONVERTED {
            self.conversions.insert(text.into(), shared.clone());
        }
        shared
    }
}

impl Resource {
    fn read(service: &str, attributes: &BTreeMap<String, String>) -> Self {
        let get = |name: &str| bounded(attributes.get(name).cloned().unwrap_or_default());
        let service = match service.trim().is_empty() {
            true => get("service.name"),
            false => bounded(service.to_owned()),
        };
        let workload = WORKLOADS.iter().find_map(|(name, kind)| {
            let value = attributes.get(*name).filter(|value| !value.is_empty())?;
            Some((*kind, bounded(value.clone())))
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
