//! Workloads that name a service as host in an environment value or a command.
//!
//! Matched by value against names in use, never by the name of a variable. Services that are sent
//! telemetry (at the ports of the common protocols) are left out: everything exports to them, and
//! nothing fails with them.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::EntityId;
use eog_core::incident::EffectDirection::TargetToSource;
use serde_json::Value;

use super::builder::Builder;
use super::objects::{containers, pod_spec};
use super::{NameIndex, relation};
use crate::architecture::Architecture;
use crate::json::{list, text};
use crate::names;
use crate::read::Objects;
use crate::unfold::UNFOLDED;

/// Ports at which only telemetry is received: OTLP, Zipkin, Jaeger.
const TELEMETRY_PORTS: [&str; 5] = ["4317", "4318", "9411", "14250", "14268"];

/// Longest value that is searched for hosts, in bytes.
const MAX_VALUE: usize = 4096;

/// A host that a text names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Host {
    pub(crate) name: String,
    /// The namespace, for names like `db.shop.svc.cluster.local`.
    pub(crate) namespace: Option<String>,
    pub(crate) port: Option<String>,
}

impl Builder {
    pub(super) fn add_hosts(&mut self, objects: &Objects, architecture: Option<&Architecture>) {
        let mut uses: BTreeSet<(EntityId, String, String)> = BTreeSet::new();
        let mut sinks: BTreeSet<(String, String)> = BTreeSet::new();
        for (entity, history) in &objects.histories {
            let Some(namespace) = names::namespace_of(entity) else { continue };
            for state in &history.states {
                let Some(spec) = pod_spec(&state.object) else { continue };
                for host in named_hosts(spec, namespace, objects) {
                    let home = host.namespace.as_deref().unwrap_or(namespace);
                    if !self.index.is_host(home, &host.name) {
                        continue;
                    }
                    let is_sink =
                        host.port.as_ref().is_some_and(|p| TELEMETRY_PORTS.contains(&p.as_str()));
                    let observes = architecture.is_some_and(|known| known.observes(&host.name));
                    if is_sink || observes {
                        sinks.insert((home.to_owned(), host.name.clone()));
                    }
                    uses.insert((entity.clone(), home.to_owned(), host.name));
                }
            }
        }
        for (entity, namespace, name) in uses {
            if sinks.contains(&(namespace.clone(), name.clone())) || names::bare(&entity) == name {
                continue;
            }
            let service = self.service(&namespace, &name);
            self.connect(Some(entity), relation::USES, service, TargetToSource);
        }
    }
}

/// Every host named by the values and commands of a pod specification.
fn named_hosts(spec: &Value, namespace: &str, objects: &Objects) -> BTreeSet<Host> {
    let mut found = BTreeSet::new();
    for container in containers(spec) {
        let values = environment(container, namespace, objects);
        for value in values.values() {
            found.extend(hosts(&expand(value, &values)));
        }
        for field in ["/command", "/args"] {
            for text in list(container, field).filter_map(Value::as_str) {
                found.extend(hosts_in_command(&expand(text, &values)));
            }
        }
    }
    found
}

/// The environment of a container, as far as it is written down.
fn environment(container: &Value, namespace: &str, objects: &Objects) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let data = |name: Option<&Value>| {
        let entity = names::entity(namespace, "ConfigMap", name?.as_str()?)?;
        objects.histories.get(&entity)?.latest()?.get("data")?.as_object()
    };
    for source in list(container, "/envFrom") {
        for (key, value) in data(source.pointer("/configMapRef/name")).into_iter().flatten() {
            values.extend(value.as_str().map(|text| (key.clone(), text.to_owned())));
        }
    }
    for variable in list(container, "/env") {
        let Some(name) = text(variable, "/name") else { continue };
        let direct = text(variable, "/value");
        let reference = variable.pointer("/valueFrom/configMapKeyRef");
        let referred = reference.and_then(|reference| {
            let key = reference.get("key")?.as_str()?;
            data(reference.get("name"))?.get(key).filter(|value| value.get(UNFOLDED).is_none())
        });
        if let Some(value) = direct.or_else(|| referred?.as_str()) {
            values.insert(name.to_owned(), value.to_owned());
        }
    }
    values
}

/// Replaces `$(NAME)` by the value of that variable, once.
fn expand(value: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = value.get(..MAX_VALUE).unwrap_or(value);
    while let Some((before, after)) = rest.split_once("$(") {
        out.push_str(before);
        let Some((name, tail)) = after.split_once(')') else { break };
        out.push_str(values.get(name).map(String::as_str).unwrap_or_default());
        rest = tail;
        if out.len() > MAX_VALUE {
            return out;
        }
    }
    out.push_str(rest);
    out
}

/// The hosts of a value: `host`, `host:port`, `scheme://user@host:port/path`, and lists of these.
pub(crate) fn hosts(value: &str) -> Vec<Host> {
    if value.len() > MAX_VALUE {
        return Vec::new();
    }
    value.split([',', ' ', ';']).filter_map(|piece| host(piece.trim())).collect()
}

/// The name of a host outside of the cluster: a full domain name that is none of the cluster's own.
pub(crate) fn outside(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = authority.rsplit('@').next().unwrap_or_default();
    let name = name.split(':').next().unwrap_or_default().trim_end_matches('.');
    let labels: Vec<&str> = name.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let top = labels.last().filter(|top| top.bytes().all(|b| b.is_ascii_alphabetic()))?;
    // `.local` and `.internal` are reserved for networks of one's own, `svc` for the cluster's.
    let is_own =
        ["local", "internal", "localdomain", "svc"].contains(top) || labels.contains(&"svc");
    let is_full = labels.len() >= 2 && name.len() <= 253 && labels.iter().all(is_label);
    (is_full && !is_own).then(|| name.to_ascii_lowercase())
}

/// The entity of a host outside of the cluster. `cart.shop` is inside where there is a namespace `shop`.
pub(crate) fn outside_entity(address: &str, index: &NameIndex) -> Option<EntityId> {
    let name = outside(address)?;
    let is_inside = name.rsplit('.').next().is_some_and(|last| index.has_namespace(last));
    names::entity("", OUTSIDE, &name).filter(|_| !is_inside)
}

/// The kind of what lies outside of the cluster.
const OUTSIDE: &str = "ExternalHost";

/// The hosts of a command: URLs, `host:port`, and words that stand alone.
fn hosts_in_command(text: &str) -> Vec<Host> {
    let pieces = text.split(|c: char| c.is_whitespace() || "\"';|&()=,".contains(c));
    let words = pieces.filter_map(host);
    // Of bare words only those that a port follows: `nc db 5432`.
    let tokens: Vec<&str> = text.split(|c: char| c.is_whitespace() || c == ';').collect();
    let followed = |name: &str| {
        tokens.windows(2).any(|pair| match pair {
            [first, second] => {
                first.starts_with(name)
                    && !second.is_empty()
                    && second.bytes().all(|b| b.is_ascii_digit())
            }
            _ => false,
        })
    };
    words.filter(|host| host.port.is_some() || followed(&host.name)).collect()
}

fn host(piece: &str) -> Option<Host> {
    let (has_scheme, rest) =
        piece.split_once("://").map_or((false, piece), |(_, rest)| (true, rest));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if !has_scheme && authority.len() != rest.len() && !authority.contains(':') {
        return None;
    }
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = match authority.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (authority, None),
    };
    if port.is_some_and(|port| port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit())) {
        return None;
    }
    let is_name = |name: &str| {
        !name.is_empty()
            && name.len() <= 253
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let mut labels = name.split('.');
    let first = labels.next().filter(|first| is_name(first))?;
    let (second, third) = (labels.next(), labels.next());
    let namespace = match (second, third) {
        (None, _) => None,
        (Some(space), None | Some("svc")) if is_name(space) => Some(space.to_owned()),
        _ => return None,
    };
    Some(Host { name: first.to_owned(), namespace, port: port.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_domain_names_lie_outside() {
        for (address, expected) in [
            ("https://api.Example.com:443/v1", Some("api.example.com")),
            ("pay.example.org.", Some("pay.example.org")),
            ("cart", None),
            ("cart.shop.svc.cluster.local", None),
            ("cart.shop.svc", None),
            ("10.0.0.1", None),
            ("*.example.com", None),
            ("", None),
        ] {
            assert_eq!(outside(address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn hosts_are_found_by_form() {
        let cases = [
            ("db", "db"),
            ("db:5432", "db:5432"),
            ("http://db:80/path?x=y", "db:80"),
            ("postgres://u:p@db.shop.svc.cluster.local:5432/x", "shop/db:5432"),
            ("db.shop", "shop/db"),
            ("a:1,b:2", "a:1 b:2"),
            ("/etc/db", ""),
            ("image/db", ""),
            ("service.name=db", ""),
            ("example.com.invalid", ""),
            ("http://*:8080", ""),
        ];
        for (value, expected) in cases {
            let written = |host: &Host| {
                let space = host.namespace.as_ref().map(|n| format!("{n}/")).unwrap_or_default();
                let port = host.port.as_ref().map(|p| format!(":{p}")).unwrap_or_default();
                format!("{space}{}{port}", host.name)
            };
            let found = hosts(value).iter().map(written).collect::<Vec<_>>().join(" ");
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn commands_name_hosts_with_a_port() {
        let found =
            hosts_in_command("until nc -z -w30 cache-a 6379; do echo wait for cache-b; done");
        assert_eq!(found.iter().map(|h| h.name.as_str()).collect::<Vec<_>>(), ["cache-a"]);
        let found = hosts_in_command("run --url=http://db:80/x");
        assert_eq!(found[0].name, "db");
    }
}
