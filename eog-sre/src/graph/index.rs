//! One name for one thing: how names from different sources are brought together.
//!
//! The rules, in this order, within one namespace:
//! 1. A name that a Service object has is that Service.
//! 2. Names are *alike* when they are equal without case, separators, and a trailing `service` or
//!    `svc`: `cart-service`, `cartservice` and `cart` are alike. A name alike to exactly one
//!    Service object is that Service.
//! 3. The same with workloads: a service without a Service object takes the workload's name.
//! 4. The same with names that telemetry uses.
//! 5. Anything else, and a name that is alike to several, keeps its own name; the latter with a
//!    warning.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::EntityId;

use crate::names;

/// The namespace of services of unknown namespace.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";

/// Endings that say what a thing is and not which one.
const KIND_ENDINGS: [&str; 2] = ["service", "svc"];

/// The names in use, by namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameIndex {
    spaces: BTreeMap<String, Space>,
}

#[derive(Clone, Debug, Default)]
struct Space {
    /// Names by source, the source that decides first.
    services: Names,
    workloads: Names,
    telemetry: Names,
    /// How often telemetry named a service here.
    weight: usize,
}

/// Names, also by their likeness.
#[derive(Clone, Debug, Default)]
struct Names {
    all: BTreeSet<String>,
    alike: BTreeMap<String, BTreeSet<String>>,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// A known name, perhaps written differently.
    Known(String),
    /// Alike to several names.
    Ambiguous(Vec<String>),
    /// Not known here.
    Unknown,
}

impl Names {
    fn insert(&mut self, name: &str) {
        if self.all.insert(name.to_owned()) {
            self.alike.entry(likeness(name)).or_default().insert(name.to_owned());
        }
    }

    fn find(&self, name: &str) -> Match {
        if self.all.contains(name) {
            return Match::Known(name.to_owned());
        }
        let alike: Vec<&String> = self.alike.get(&likeness(name)).into_iter().flatten().collect();
        match alike.as_slice() {
            [] => Match::Unknown,
            [one] => Match::Known((*one).clone()),
            several => Match::Ambiguous(several.iter().map(|name| (*name).clone()).collect()),
        }
    }
}

impl NameIndex {
    pub(crate) fn add_service(&mut self, namespace: &str, name: &str) {
        self.space(namespace).services.insert(name);
    }

    pub(crate) fn add_workload(&mut self, namespace: &str, name: &str) {
        self.space(namespace).workloads.insert(name);
    }

    pub(crate) fn add_telemetry(&mut self, namespace: &str, name: &str) {
        let space = self.space(namespace);
        space.weight += 1;
        space.telemetry.insert(name);
    }

    fn space(&mut self, namespace: &str) -> &mut Space {
        self.spaces.entry(namespace.to_owned()).or_default()
    }

    /// Whether anything has a name in this namespace.
    pub(crate) fn has_namespace(&self, namespace: &str) -> bool {
        self.spaces.contains_key(namespace)
    }

    /// What a name stands for in a namespace.
    pub(crate) fn find(&self, namespace: &str, name: &str) -> Match {
        let Some(space) = self.spaces.get(namespace) else { return Match::Unknown };
        let sources = [&space.services, &space.workloads, &space.telemetry];
        let found = sources.into_iter().map(|source| source.find(name));
        found.into_iter().find(|found| *found != Match::Unknown).unwrap_or(Match::Unknown)
    }

    /// Whether exactly this name is in use in a namespace, as a host name must be.
    pub(crate) fn is_host(&self, namespace: &str, name: &str) -> bool {
        self.spaces.get(namespace).is_some_and(|space| {
            let sources = [&space.services, &space.workloads, &space.telemetry];
            sources.iter().any(|source| source.all.contains(name))
        })
    }

    /// The Service entity that a name stands for in a namespace.
    pub(crate) fn service(&self, namespace: &str, name: &str) -> Option<EntityId> {
        match self.find(namespace, name) {
            Match::Known(known) => names::entity(namespace, "Service", &known),
            Match::Ambiguous(_) | Match::Unknown => names::entity(namespace, "Service", name),
        }
    }

    /// The workloads that carry a service's name, one or none.
    pub(crate) fn workload_of(&self, namespace: &str, service: &str) -> Option<String> {
        match self.spaces.get(namespace)?.workloads.find(service) {
            Match::Known(name) => Some(name),
            Match::Ambiguous(_) | Match::Unknown => None,
        }
    }

    /// The namespace in which a name is known; of several the one that telemetry speaks of most.
    /// For an unknown name the namespace that telemetry speaks of most.
    pub(crate) fn namespace_of(&self, name: &str) -> String {
        let known = self.spaces.keys().filter(|space| self.find(space, name) != Match::Unknown);
        let known: Vec<&String> = known.collect();
        let among = if known.is_empty() { self.spaces.keys().collect() } else { known };
        let heaviest = among.into_iter().rev().max_by_key(|space| self.weight(space));
        heaviest.cloned().unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned())
    }

    fn weight(&self, namespace: &str) -> usize {
        self.spaces.get(namespace).map_or(0, |space| space.weight)
    }

    /// Names of one namespace that begin with `name` and a dash.
    pub(crate) fn extensions(&self, namespace: &str, name: &str) -> Vec<String> {
        let Some(space) = self.spaces.get(namespace) else { return Vec::new() };
        let all = space.services.all.iter().chain(&space.workloads.all).chain(&space.telemetry.all);
        let begins =
            |other: &&String| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
        all.filter(begins).cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// What is left of a name without case, separators and kind.
pub(crate) fn likeness(name: &str) -> String {
    let joined: String =
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let ending = KIND_ENDINGS.iter().find_map(|ending| joined.strip_suffix(ending));
    ending.filter(|rest| !rest.is_empty()).map_or(joined.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_alike_by_rule_and_not_by_table() {
        for name in ["cart", "cart-service", "CartService", "cartservice", "cart_svc"] {
            assert_eq!(likeness(name), "cart", "{name}");
        }
        assert_eq!(likeness("service"), "service");
        assert_ne!(likeness("flags"), likeness("flags-ui"));
    }

    #[test]
    fn service_objects_decide_and_ambiguity_is_kept_apart() {
        let mut index = NameIndex::default();
        index.add_service("a", "cart");
        index.add_workload("a", "cart-service");
        index.add_workload("a", "mail");
        index.add_service("b", "pay-service");
        index.add_service("b", "pay_svc");
        let cases = [
            ("a", "cartservice", "a/Service/cart"),
            ("a", "cart-service", "a/Service/cart"),
            ("a", "mail-service", "a/Service/mail"),
            ("a", "other", "a/Service/other"),
            ("b", "pay", "b/Service/pay"),
            ("b", "pay-service", "b/Service/pay-service"),
        ];
        for (namespace, name, expected) in cases {
            let id = index.service(namespace, name).unwrap();
            assert_eq!(id.as_str(), expected, "{namespace} {name}");
        }
        assert!(matches!(index.find("b", "pay"), Match::Ambiguous(names) if names.len() == 2));
    }

    #[test]
    fn a_namespace_is_inferred_from_where_the_name_is_known() {
        let mut index = NameIndex::default();
        assert_eq!(index.namespace_of("cart"), DEFAULT_NAMESPACE);
        index.add_telemetry("shop", "web");
        index.add_workload("tools", "cart");
        assert_eq!(index.namespace_of("cart-service"), "tools");
        assert_eq!(index.namespace_of("unheard"), "shop");
    }
}
