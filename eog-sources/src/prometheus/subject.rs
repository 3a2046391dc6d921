//! The entity of a series, by its labels.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::answer::Raw;
use crate::piece::Who;

/// Labels that name a namespace, best first.
pub(super) const NAMESPACES: [&str; 4] =
    ["exported_namespace", "k8s_namespace_name", "service_namespace", "namespace"];

/// Labels that name a pod and a machine, best first. Prometheus renames what an exporter says of others where its own
/// labels have the same names (`honor_labels: false`).
pub(super) const PODS: [&str; 2] = ["exported_pod", "pod"];
pub(super) const NODES: [&str; 2] = ["exported_node", "node"];

/// Labels of kube-state-metrics that name a workload.
pub(super) const WORKLOADS: [&str; 3] = ["deployment", "statefulset", "daemonset"];

/// Labels of a client's requests that name the server, best first.
pub(super) const SERVERS: [&str; 8] = [
    "peer_service",
    "server_address",
    "server_port",
    "net_peer_name",
    "net_peer_port",
    "http_host",
    "upstream",
    "target",
];

/// Which instances there are, and their entities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inventory {
    /// Instances, as `host:port`, and what they are instances of.
    pub(super) instances: BTreeMap<String, Who>,
    /// Node exporters, and the machine that each runs on.
    pub(super) hosts: BTreeMap<String, String>,
}

/// How labels are read.
#[derive(Clone, Debug)]
pub(crate) struct Naming {
    pub(crate) labels: Vec<String>,
}

impl Naming {
    /// The labels of a service in PromQL.
    pub(super) fn by_service(&self) -> String {
        let mut by: Vec<&str> = self.labels.iter().map(String::as_str).collect();
        by.extend(NAMESPACES);
        by.push("pod");
        distinct(&by)
    }

    /// The service that a series is of.
    pub(super) fn service(&self, raw: &Raw) -> Option<Who> {
        let named = self.labels.iter().map(|name| raw.label(name)).find(|name| !name.is_empty());
        let space = namespace(raw);
        match named {
            Some(name) => {
                // OpenTelemetry writes `service.namespace/service.name` into `job`.
                let (of_name, name) = name.rsplit_once('/').unwrap_or(("", name));
                let namespace = if space.is_empty() { of_name } else { space };
                Some(Who::Service { namespace: namespace.to_owned(), name: name.to_owned() })
                    .filter(|_| !name.is_empty())
            }
            None => pod(raw),
        }
    }
}

impl Inventory {
    /// The service, or the machine for series of a node exporter.
    pub(super) fn whose(&self, naming: &Naming, raw: &Raw) -> Option<Who> {
        self.host(raw).or_else(|| naming.service(raw))
    }

    /// The machine, for series of a node exporter.
    pub(super) fn host(&self, raw: &Raw) -> Option<Who> {
        self.hosts.get(raw.label("instance")).map(|host| Who::Host(host.clone()))
    }

    /// The server that a client's requests name, where that is known.
    pub(super) fn server(&self, raw: &Raw) -> Option<Who> {
        let label = |name: &str| Some(raw.label(name)).filter(|value| !value.is_empty());
        if let Some(name) = label("peer_service") {
            return Some(self.named(name));
        }
        let address = ["server_address", "net_peer_name", "http_host", "upstream", "target"];
        let address = address.into_iter().find_map(label)?;
        let address = address.split_once("://").map_or(address, |(_, rest)| rest);
        let address = address.split('/').next().unwrap_or_default();
        let port = label("server_port").or_else(|| label("net_peer_port"));
        let whole = match port {
            Some(port) if !address.ends_with(&format!(":{port}")) => format!("{address}:{port}"),
            _ => address.to_owned(),
        };
        if let Some(known) = self.instances.get(&whole) {
            return Some(known.clone());
        }
        let host = host_part(&whole);
        (!host.is_empty() && !is_loopback(host)).then(|| self.named(host))
    }

    /// A known service of this name, or the first part of it, as in `cart.shop.svc`.
    fn named(&self, name: &str) -> Who {
        let first = name.split('.').next().unwrap_or(name);
        let known: BTreeSet<&Who> = self
            .instances
            .values()
            .filter(|who| matches!(who, Who::Service { name: known, .. } if known == name || known == first))
            .collect();
        match (known.len(), known.first()) {
            (1, Some(only)) => (*only).clone(),
            _ => Who::service(name),
        }
    }

    /// The machine on which an instance runs.
    pub(super) fn host_of(&self, instance: &str) -> Option<&String> {
        let part = host_part(instance);
        let same = |other: &str| {
            let other = host_part(other);
            other == part || is_loopback(other) && is_loopback(part)
        };
        self.hosts.iter().find(|(exporter, _)| same(exporter)).map(|(_, host)| host)
    }
}

/// The pod that a series is of.
pub(super) fn pod(raw: &Raw) -> Option<Who> {
    let (namespace, name) = (namespace(raw), first(raw, &PODS));
    (!name.is_empty() && !namespace.is_empty())
        .then(|| Who::Pod { namespace: namespace.to_owned(), name: name.to_owned() })
}

/// The workload that a series is of.
pub(super) fn workload(raw: &Raw) -> Option<Who> {
    let (namespace, name) = (namespace(raw), first(raw, &WORKLOADS));
    (!name.is_empty() && !namespace.is_empty())
        .then(|| Who::Service { namespace: namespace.to_owned(), name: name.to_owned() })
}

/// The value of the first of these labels that a series has; empty where it has none.
pub(super) fn first<'a>(raw: &'a Raw, names: &[&str]) -> &'a str {
    names.iter().map(|name| raw.label(name)).find(|value| !value.is_empty()).unwrap_or_default()
}

pub(super) fn namespace(raw: &Raw) -> &str {
    first(raw, &NAMESPACES)
}

/// `host:port` without the port.
pub(super) fn host_part(instance: &str) -> &str {
    match instance.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|c| c.is_ascii_digit()) => {
            host.trim_start_matches('[').trim_end_matches(']')
        }
        _ => instance,
    }
}

pub(super) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

/// Names for a `by` clause, each once.
pub(super) fn distinct(names: &[&str]) -> String {
    let mut seen = BTreeSet::new();
    let names: Vec<&str> = names.iter().filter(|name| seen.insert(**name)).copied().collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Labels = &'static [(&'static str, &'static str)];

    fn raw(labels: Labels) -> Raw {
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Raw { labels, points: Vec::new() }
    }

    fn naming() -> Naming {
        Naming { labels: vec!["service".into(), "job".into()] }
    }

    #[test]
    fn the_best_label_names_the_service() {
        let cases: [(Labels, Option<Who>); 4] = [
            (&[("job", "scraper"), ("service", "cart")], Some(Who::service("cart"))),
            (
                &[("job", "shop/cart")],
                Some(Who::Service { namespace: "shop".into(), name: "cart".into() }),
            ),
            (
                &[("pod", "a-1"), ("namespace", "n")],
                Some(Who::Pod { namespace: "n".into(), name: "a-1".into() }),
            ),
            (&[("path", "/")], None),
        ];
        for (labels, expected) in cases {
            assert_eq!(naming().service(&raw(labels)), expected);
        }
    }

    #[test]
    fn servers_are_found_by_address_and_name() {
        let inventory = Inventory {
            instances: [("127.0.0.1:9001".to_owned(), Who::service("cart"))].into(),
            hosts: [("localhost:9100".to_owned(), "a".to_owned())].into(),
        };
        let cases: [(Labels, Option<Who>); 6] = [
            (
                &[("server_address", "127.0.0.1"), ("server_port", "9001")],
                Some(Who::service("cart")),
            ),
            (&[("server_address", "127.0.0.1"), ("server_port", "9")], None),
            (&[("net_peer_name", "cart.shop.svc")], Some(Who::service("cart"))),
            (&[("target", "http://db.internal:5432/x")], Some(Who::service("db.internal"))),
            (&[("peer_service", "mail")], Some(Who::service("mail"))),
            (&[], None),
        ];
        for (labels, expected) in cases {
            assert_eq!(inventory.server(&raw(labels)), expected, "{labels:?}");
        }
        assert_eq!(inventory.host_of("127.0.0.1:9001"), Some(&"a".to_owned()));
        assert_eq!(inventory.host_of("10.0.0.1:9001"), None);
        assert_eq!(host_part("[::1]:80"), "::1");
    }
}
