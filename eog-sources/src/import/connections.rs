//! Edges where none are given: connection strings in environments, and what compose files declare.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::incident::EffectDirection;
use eog_sre::relation;
use serde_json::Value;

use crate::bundle::id;
use crate::kubernetes::Collected;
use crate::piece::{Link, Piece, Who};

/// A service of a compose file.
pub(super) struct Declared {
    name: String,
    needs: BTreeSet<String>,
    environment: Vec<String>,
}

/// The services of a compose file.
pub(super) fn compose(file: &Value) -> Vec<Declared> {
    let services = file.get("services").and_then(Value::as_object).into_iter().flatten();
    services
        .map(|(name, service)| {
            let mut needs = BTreeSet::new();
            for field in ["depends_on", "links"] {
                match service.get(field) {
                    Some(Value::Array(list)) => {
                        let names = list.iter().filter_map(Value::as_str);
                        needs.extend(names.map(|it| it.split(':').next().unwrap_or(it).to_owned()));
                    }
                    Some(Value::Object(map)) => needs.extend(map.keys().cloned()),
                    _ => {}
                }
            }
            let environment = match service.get("environment") {
                Some(Value::Array(list)) => {
                    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                }
                Some(Value::Object(map)) => {
                    map.values().filter_map(Value::as_str).map(str::to_owned).collect()
                }
                _ => Vec::new(),
            };
            Declared { name: name.clone(), needs, environment }
        })
        .collect()
}

/// Edges that follow from names of services in environments, and from what compose files declare.
pub(super) fn links(cluster: &Collected, compose: &[Declared], all: &Piece) -> Vec<Link> {
    let mut known: BTreeMap<String, BTreeSet<Who>> = BTreeMap::new();
    for (namespace, name) in cluster.services() {
        let who = Who::Service { namespace: namespace.to_owned(), name: name.to_owned() };
        known.entry(name.to_owned()).or_default().insert(who.clone());
        known.entry(format!("{name}.{namespace}")).or_default().insert(who);
    }
    for service in compose {
        known.entry(service.name.clone()).or_default().insert(Who::service(service.name.as_str()));
    }
    let owners: BTreeMap<&Who, &Who> = all
        .links
        .iter()
        .filter(|link| link.relation == relation::BACKS)
        .map(|link| (&link.source, &link.target))
        .collect();
    let mut found = BTreeSet::new();
    for (who, value) in cluster.environments() {
        // What a pod calls, its workload calls.
        let who = owners.get(who).copied().unwrap_or(who);
        for callee in named(value, who, &known) {
            found.insert((who.clone(), callee));
        }
    }
    for service in compose {
        let who = Who::service(service.name.as_str());
        for value in &service.environment {
            found
                .extend(named(value, &who, &known).into_iter().map(|callee| (who.clone(), callee)));
        }
        found.extend(service.needs.iter().map(|name| (who.clone(), Who::service(name.as_str()))));
    }
    let link = |(source, target): (Who, Who)| Link {
        source,
        target,
        relation: "calls".to_owned(),
        effects: EffectDirection::TargetToSource,
    };
    found.into_iter().filter(|(source, target)| source != target).map(link).collect()
}

/// An edge in words.
pub(super) fn in_words(link: &Link) -> String {
    let name = |who: &Who| id(who).map_or_else(String::new, |it| it.to_string());
    format!("{} calls {}", name(&link.source), name(&link.target))
}

/// The services whose host a value names: `postgres://u@db:5432/x`, `http://cart.shop.svc:80`, `redis:6379`, `db`.
fn named(value: &str, who: &Who, known: &BTreeMap<String, BTreeSet<Who>>) -> BTreeSet<Who> {
    let space = match who {
        Who::Service { namespace, .. }
        | Who::Pod { namespace, .. }
        | Who::Object { namespace, .. } => namespace.as_str(),
        Who::Host(_) => "",
    };
    let mut found = BTreeSet::new();
    for part in value.split([',', ' ', ';', '=']) {
        let host = part.split_once("://").map_or(part, |(_, rest)| rest);
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let host = host.split(['/', ':', '?']).next().unwrap_or(host);
        let mut labels = host.split('.');
        let (Some(name), of) = (labels.next(), labels.next()) else { continue };
        let key = match of {
            Some(of) => format!("{name}.{of}"),
            None => name.to_owned(),
        };
        let Some(candidates) = known.get(&key) else { continue };
        let is_here =
            |it: &&Who| matches!(it, Who::Service { namespace, .. } if namespace == space);
        match (of, candidates.len()) {
            (Some(_), _) | (None, 1) => found.extend(candidates.iter().next().cloned()),
            _ => found.extend(candidates.iter().find(is_here).cloned()),
        }
    }
    found
}
