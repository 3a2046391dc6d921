//! Edges where none are given: connection strings in environments, and what compose files declare.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::kubernetes::Collected;
use crate::piece::Who;
use crate::upstreams::Names;

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

/// Adds the services of a cluster and of compose files to the names that hosts may have.
pub(super) fn add_names(cluster: &Collected, compose: &[Declared], names: &mut Names) {
    for (namespace, name) in cluster.services() {
        names.add(&Who::Service { namespace: namespace.to_owned(), name: name.to_owned() });
    }
    compose.iter().for_each(|service| names.add(&Who::service(service.name.as_str())));
}

/// Calls that follow from names of services in environments, and from what compose files declare.
pub(super) fn calls(
    cluster: &Collected,
    compose: &[Declared],
    names: &Names,
    owners: &BTreeMap<&Who, &Who>,
) -> BTreeSet<(Who, Who)> {
    let mut found = BTreeSet::new();
    for (who, value) in cluster.environments() {
        let who = owners.get(who).copied().unwrap_or(who);
        found.extend(names.named(value, who).into_iter().map(|callee| (who.clone(), callee)));
    }
    for service in compose {
        let who = Who::service(service.name.as_str());
        for value in &service.environment {
            found.extend(names.named(value, &who).into_iter().map(|callee| (who.clone(), callee)));
        }
        found.extend(service.needs.iter().map(|name| (who.clone(), Who::service(name.as_str()))));
    }
    found.retain(|(source, target)| source != target);
    found
}
