//! The sender of a piece of telemetry: the resource attributes, read once for each distinct text.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::bounded;
use eog_evidence::mask_text;

use crate::pydict;
use crate::store::{Interner, Resource};

/// Most bytes of texts whose meaning is remembered, for each use.
pub(crate) const MAX_REMEMBERED: usize = 32 * 1024 * 1024;

/// What remembering a text needs besides its bytes, roughly.
const ENTRY: usize = 100;

/// Attribute names that hold a workload, by kind.
pub(crate) const WORKLOADS: [(&str, &str); 3] = [
    ("k8s.deployment.name", "Deployment"),
    ("k8s.statefulset.name", "StatefulSet"),
    ("k8s.daemonset.name", "DaemonSet"),
];

/// The service of a sender as it was given, and the sender's number.
type Known = (Box<str>, u32);

/// The senders of one kind of telemetry, each once, and what each text of attributes meant.
pub(crate) struct Senders {
    senders: Interner<Resource>,
    /// By attributes, then by service, of which there is nearly always one. Look-ups alone.
    known: HashMap<Box<str>, Vec<Known>>,
    remembered: usize,
}

impl Senders {
    pub(crate) fn new() -> Self {
        Self { senders: Interner::new(), known: HashMap::new(), remembered: 0 }
    }

    /// The number of a sender.
    pub(crate) fn number(&mut self, service: &str, attributes: &str) -> u32 {
        let mut known = self.known.get(attributes).into_iter().flatten();
        if let Some((_, number)) = known.find(|(of, _)| **of == *service) {
            return *number;
        }
        let sender = Resource::read(service, &pydict::parse(attributes));
        let number = self.senders.number(&sender, |sender| Arc::new(sender.clone()));
        let size = service.len() + attributes.len() + ENTRY;
        if self.remembered + size <= MAX_REMEMBERED {
            self.remembered += size;
            let new = (service.into(), number);
            match self.known.get_mut(attributes) {
                Some(known) => known.push(new),
                None => drop(self.known.insert(attributes.into(), vec![new])),
            }
        }
        number
    }

    /// About how many bytes they hold by now.
    pub(crate) fn size(&self) -> usize {
        self.senders.size() + self.remembered
    }

    /// The senders by their numbers.
    pub(crate) fn into_values(self) -> Vec<Arc<Resource>> {
        self.senders.into_values()
    }
}

/// What texts of limited variety become, worked out once for each text.
#[derive(Default)]
pub(crate) struct Conversions {
    /// Look-ups alone.
    known: HashMap<Box<str>, u32>,
    /// How many bytes are remembered by now.
    pub(crate) remembered: usize,
}

impl Conversions {
    /// The number, in a dictionary, of what a text becomes.
    pub(crate) fn number(
        &mut self,
        texts: &mut Interner<str>,
        text: &str,
        convert: impl FnOnce(&str) -> String,
    ) -> u32 {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let number = texts.text(&convert(text));
        let size = text.len() + ENTRY;
        if self.remembered + size <= MAX_REMEMBERED {
            self.remembered += size;
            self.known.insert(text.into(), number);
        }
        number
    }
}

impl Resource {
    fn read(service: &str, attributes: &BTreeMap<String, String>) -> Self {
        let get = |name: &str| bounded(attributes.get(name).cloned().unwrap_or_default());
        let service = match service.trim().is_empty() {
            true => get("service.name"),
            false => bounded(mask_text(service)),
        };
        let workload = WORKLOADS.iter().find_map(|(name, kind)| {
            let value = attributes.get(*name).filter(|value| !value.is_empty())?;
            Some((*kind, bounded(value.clone())))
        });
        Self {
            service,
            namespace: get("k8s.namespace.name"),
            pod: get("k8s.pod.name"),
            version: get("service.version"),
            workload,
            node: get("k8s.node.name"),
        }
    }
}
