//! What is done to the root cause, by its kind and the words of the truth.

use std::collections::BTreeSet;

use crate::random::RandomSeed;
use serde_json::{Value, json};

use super::names::matching;
use super::system::System;
use crate::reach::reached;
use crate::scenario::Scenario;

/// A root cause and what happens to it.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub(super) api_version: Option<String>,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    /// The service that it is, or runs.
    pub(super) service: Option<usize>,
    /// The services that the truth says it reaches first.
    pub(super) first: BTreeSet<usize>,
    pub(super) fault: Fault,
}

/// What happens to a root cause.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// Data of a ConfigMap or Secret: key, old text, new text.
    Data(String, String, String),
    /// A workload gets an image that cannot be pulled.
    Image,
    /// A workload gets a wrong environment value.
    Environment,
    /// A workload is scaled to zero.
    Scale,
    /// A workload gets too little memory and is killed again and again.
    Limits,
    /// A workload gets a command that ends at once.
    Command,
    /// The pods of a workload fit on no node.
    Placement,
    /// A sender of load sends more.
    Demand,
    /// A pod is lost, and its successor fits on no node.
    PodLost,
    /// A network policy lets nothing in.
    Policy,
    /// A fault experiment: the kind that runs, and whether a schedule defines it.
    Experiment(String, bool),
    /// A quota of memory forbids new pods.
    Quota,
    /// A Service points at a port without a listener.
    Port,
    /// Some field of the object changes.
    Generic,
}

impl Fault {
    /// Whether nothing takes requests any more.
    pub(super) fn takes_down(&self, words: &str) -> bool {
        match self {
            Self::Scale
            | Self::Image
            | Self::Placement
            | Self::PodLost
            | Self::Policy
            | Self::Quota
            | Self::Port
            | Self::Command => true,
            Self::Experiment(..) => words.contains("partition") || words.contains("pod kill"),
            _ => false,
        }
    }
}

/// The root causes of a truth.
pub(super) fn roots(given: &Scenario, system: &System, seed: RandomSeed) -> Vec<Root> {
    let groups = given.groups.iter().filter(|group| group.root_cause).map(|group| {
        let service = system.of_group.get(&group.id).copied();
        let name = match (&group.name, group.filters.first()) {
            (_, Some(filter)) => matching(filter, "main"),
            (Some(name), None) => name.clone(),
            (None, None) => group.id.clone(),
        };
        let words = words(given, &group.id);
        let first = first_reached(given, system, &group.id);
        root(
            (None, group.kind.as_str(), group.namespace.clone(), name),
            service,
            first,
            given,
            &words,
            system,
        )
    });
    let entities = given.entities.iter().map(|entity| {
        let name = entity.name.clone();
        let runs = |at: &usize| {
            let service = &system.services[*at];
            [Some(&service.name), Some(&service.workload), service.first_pod.as_ref()]
                .contains(&Some(&name))
        };
        let service = (0..system.services.len()).find(runs);
        let version = entity.api_version.clone();
        let identity = (version, entity.kind.as_str(), entity.namespace.clone(), name);
        root(identity, service, BTreeSet::new(), given, &given.fault_words(), system)
    });
    let mut roots: Vec<Root> = groups.chain(entities).collect();
    for root in roots.iter_mut().filter(|root| root.first.is_empty()) {
        // The truth does not say which entities it reaches.
        let alerted = system.alerted(given);
        root.first = match root.service {
            Some(own) => BTreeSet::from([own]),
            None if alerted.is_empty() => {
                let mut draw = seed.stream("reached");
                BTreeSet::from([draw.position(system.services.len())])
            }
            None => alerted,
        };
    }
    roots
}

fn root(
    (api_version, kind, namespace, name): (Option<String>, &str, Option<String>, String),
    service: Option<usize>,
    first: BTreeSet<usize>,
    given: &Scenario,
    words: &str,
    system: &System,
) -> Root {
    let fault = fault(kind, service, given, words, system, &first);
    Root { api_version, kind: kind.to_owned(), namespace, name, service, first, fault }
}

fn fault(
    kind: &str,
    service: Option<usize>,
    given: &Scenario,
    words: &str,
    system: &System,
    first: &BTreeSet<usize>,
) -> Fault {
    let says = |any: &[&str]| any.iter().any(|word| words.contains(word));
    match kind {
        "ConfigMap" | "Secret" => data(given, system, first),
        "NetworkPolicy" => Fault::Policy,
        "ResourceQuota" | "LimitRange" => Fault::Quota,
        "Namespace" if says(&["quota", "memory", "limit"]) => Fault::Quota,
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => match service {
            Some(at)
                if says(&["flood", "surge", "traffic", "load"]) && system.entries.contains(&at) =>
            {
                Fault::Demand
            }
            _ if says(&["image", "architecture"]) => Fault::Image,
            _ if says(&["node selector", "nodeselector", "affinity", "taint", "schedul"]) => {
                Fault::Placement
            }
            _ if says(&["replica", "scale to", "scaled to", "scaling", "zero"]) => Fault::Scale,
            _ if says(&["environment", "env var", "variable", "env "]) => Fault::Environment,
            _ if says(&["command", "args", "entrypoint", "argument"]) => Fault::Command,
            _ if says(&["memory", "cpu", "limit", "oom"]) => Fault::Limits,
            _ => Fault::Environment,
        },
        "Pod" => Fault::PodLost,
        "Service" if service.is_some_and(|at| system.entries.contains(&at)) => Fault::Demand,
        "Service" => Fault::Port,
        "Schedule" | "Workflow" => Fault::Experiment(experiment(words), true),
        _ if kind.ends_with("Chaos") => Fault::Experiment(kind.to_owned(), false),
        _ => Fault::Generic,
    }
}

/// The kind of an experiment by the words of the truth.
fn experiment(words: &str) -> String {
    let kinds = [
        ("http", "HTTPChaos"),
        ("jvm", "JVMChaos"),
        ("dns", "DNSChaos"),
        ("i/o", "IOChaos"),
        ("network", "NetworkChaos"),
        ("partition", "NetworkChaos"),
        ("kill", "PodChaos"),
        ("stress", "StressChaos"),
        ("cpu", "StressChaos"),
        ("memory", "StressChaos"),
    ];
    let found = kinds.iter().find(|(word, _)| words.contains(word));
    found.map_or("PodChaos", |(_, kind)| kind).to_owned()
}

/// What changes in a ConfigMap: what the truth says, else a switch of one of the services reached.
fn data(given: &Scenario, system: &System, first: &BTreeSet<usize>) -> Fault {
    if let Some((element, from, to)) = given.changed().filter(|(_, from, to)| from != to) {
        let plain = element.replace('\\', "");
        let key = plain.strip_prefix("data.").unwrap_or(&plain).to_owned();
        let whole = |text: String| match serde_json::from_str::<Value>(&text) {
            Ok(_) => text,
            Err(_) => format!("{{\"settings\": {{\n{text}\n}}}}\n"),
        };
        return Fault::Data(key, whole(from), whole(to));
    }
    let text = |variant: &str| {
        let flags: serde_json::Map<String, Value> = first
            .iter()
            .map(|at| {
                let name = format!("{}Mode", system.services[*at].name);
                (name, json!({"state": "ENABLED", "defaultVariant": variant}))
            })
            .collect();
        serde_json::to_string_pretty(&json!({ "settings": flags })).unwrap_or_default()
    };
    Fault::Data("settings.json".to_owned(), text("off"), text("on"))
}

/// The words about a root cause: of the faults, and of what it sets off.
fn words(given: &Scenario, group: &str) -> String {
    let mut words = given.fault_words();
    for edge in given.propagations.iter().filter(|edge| edge.source == group) {
        for said in [&edge.condition, &edge.effect] {
            words.push_str(&said.as_str().unwrap_or_default().to_lowercase());
            words.push(' ');
        }
    }
    words
}

/// The services that a group reaches before any other service.
fn first_reached(given: &Scenario, system: &System, group: &str) -> BTreeSet<usize> {
    let beyond = |at| {
        let edges = given.propagations.iter().filter(move |edge| edge.source == at);
        edges.map(|edge| edge.target.as_str()).filter(move |_| !system.of_group.contains_key(at))
    };
    let groups = reached([group], beyond).into_iter();
    groups.filter_map(|group| system.of_group.get(group).copied()).collect()
}
