//! The simulated system: services, their calls, and under which names they run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::random::RandomSeed;
use serde_json::Value;

use super::names::{key, matching};
use crate::files::{FileError, read_json};
use crate::reach::reached;
use crate::scenario::Scenario;

/// What a service is to the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Takes requests and calls others.
    Serving,
    /// Sends the load.
    Sending,
    /// A store or a queue: it has no spans of its own.
    Store,
}

/// A service with the workload behind it.
#[derive(Clone, Debug)]
pub(super) struct Service {
    /// The name of the Service object.
    pub(super) name: String,
    /// The name of the workload.
    pub(super) workload: String,
    /// The kind of the workload.
    pub(super) kind: String,
    /// The name of its first pod, where the truth gives it.
    pub(super) first_pod: Option<String>,
    pub(super) role: Role,
}

/// One dependency: `from` calls, or consumes from, `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Whether `from` takes messages out of `to`.
    pub(super) consumes: bool,
}

/// The system under a truth.
#[derive(Clone, Debug)]
pub(super) struct System {
    pub(super) namespace: String,
    pub(super) services: Vec<Service>,
    pub(super) calls: Vec<Call>,
    /// Services that have no callers and get requests from outside.
    pub(super) entries: Vec<usize>,
    /// The service of each group of the truth, where it stands for one.
    pub(super) of_group: BTreeMap<String, usize>,
}

/// Kinds of groups that stand for a service or what runs it.
const RUNNING: [&str; 8] = [
    "Service",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Pod",
    "Endpoints",
    "HorizontalPodAutoscaler",
];
const WORKLOADS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];
const DEFAULT_NAMESPACE: &str = "shop";

impl System {
    /// Brings the architecture and the names of the truth together.
    pub(super) fn new(
        given: &Scenario,
        architecture: &Path,
        seed: RandomSeed,
    ) -> Result<Self, FileError> {
        let declared: Value = read_json(architecture)?;
        let mut builder = Builder { system: Self::empty(namespace(given)), keys: BTreeMap::new() };
        builder.take_groups(given, seed);
        let known = builder.take_components(&declared);
        builder.take_dependencies(&declared, &known);
        if builder.system.services.is_empty() {
            let reason = "neither components.services nor the ground truth names a service";
            return Err(FileError::malformed(architecture, "components", reason));
        }
        builder.close_gaps(given, &declared, &known);
        Ok(builder.system)
    }

    fn empty(namespace: String) -> Self {
        let (services, calls, entries) = (Vec::new(), Vec::new(), Vec::new());
        Self { namespace, services, calls, entries, of_group: BTreeMap::new() }
    }

    /// What a service calls.
    pub(super) fn callees(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        self.calls.iter().filter(move |c| c.from == from && !c.consumes).map(|c| c.to)
    }

    /// The consumers of a queue.
    pub(super) fn consumers(&self, queue: usize) -> impl Iterator<Item = usize> + '_ {
        self.calls.iter().filter(move |c| c.to == queue && c.consumes).map(|c| c.from)
    }

    /// Everything that a service reaches by calls, itself included.
    pub(super) fn reached_by_calls(&self, from: usize) -> BTreeSet<usize> {
        reached([from], |at| self.callees(at))
    }

    /// The services that the truth has alerts on.
    pub(super) fn alerted(&self, given: &Scenario) -> BTreeSet<usize> {
        let groups = given.alert_pairs().into_iter().filter_map(|(_, group)| group);
        groups.filter_map(|group| self.of_group.get(&group).copied()).collect()
    }

    /// Whether `from` depends on `to`, over calls and queues.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let next = |at| self.calls.iter().filter(move |call| call.from == at).map(|call| call.to);
        reached([from], next).contains(&to)
    }
}

/// The namespace that most groups of running things have.
fn namespace(given: &Scenario) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let groups = given.groups.iter().filter(|group| RUNNING.contains(&group.kind.as_str()));
    let entities = given.entities.iter().filter_map(|entity| entity.namespace.as_deref());
    for namespace in groups.filter_map(|group| group.namespace.as_deref()).chain(entities) {
        *counts.entry(namespace).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(name, count)| (*count, std::cmp::Reverse(*name)));
    most.map_or(DEFAULT_NAMESPACE.to_owned(), |(name, _)| name.to_owned())
}

struct Builder {
    system: System,
    keys: BTreeMap<String, usize>,
}

impl Builder {
    fn service(&mut self, name: &str) -> usize {
        let key = key(name);
        if let Some(known) = self.keys.get(&key) {
            return *known;
        }
        self.keys.insert(key, self.system.services.len());
        self.system.services.push(Service {
            name: name.to_owned(),
            workload: name.to_owned(),
            kind: "Deployment".to_owned(),
            first_pod: None,
            role: Role::Serving,
        });
        self.system.services.len() - 1
    }

    /// Services that the truth names, in its own spelling.
    fn take_groups(&mut self, given: &Scenario, seed: RandomSeed) {
        // Services first: their names are whole.
        let mut ordered: Vec<_> = given.groups.iter().collect();
        ordered.sort_by_key(|group| RUNNING.iter().position(|kind| **kind == group.kind));
        let tail = format!("v{}", 1 + seed.stream("names").below(9));
        for group in ordered.into_iter().filter(|g| RUNNING.contains(&g.kind.as_str())) {
            let filter = group.filters.first();
            let base = match (filter, &group.name) {
                (Some(filter), _) => matching(filter, ""),
                (None, Some(name)) if group.kind == "Pod" => stem(name, 2),
                (None, Some(name)) if group.kind == "ReplicaSet" => stem(name, 1),
                (None, Some(name)) => name.clone(),
                (None, None) => continue,
            };
            let base = base.trim_matches(['-', '.']).to_owned();
            if base.is_empty() {
                continue;
            }
            let at = self.service(&base);
            self.system.of_group.insert(group.id.clone(), at);
            let Some(service) = self.system.services.get_mut(at) else { continue };
            if group.kind == "Pod" && filter.is_none() {
                service.first_pod.clone_from(&group.name);
            }
            if WORKLOADS.contains(&group.kind.as_str()) {
                service.kind.clone_from(&group.kind);
                service.workload = match filter {
                    // `mail-.*` does not match `mail`.
                    Some(filter) if !filter.ends_with("\\b") => {
                        let whole = matching(filter, "");
                        if whole == base { base } else { matching(filter, &tail) }
                    }
                    _ => base,
                };
            }
        }
        for entity in &given.entities {
            if RUNNING.contains(&entity.kind.as_str()) {
                let name = &entity.name;
                let base = match entity.kind.as_str() {
                    "Pod" => stem(name, 2),
                    "ReplicaSet" => stem(name, 1),
                    _ => name.clone(),
                };
                let at = self.service(&base);
                if let Some(service) = self.system.services.get_mut(at) {
                    if entity.kind == "Pod" {
                        service.first_pod = Some(name.clone());
                    }
                    if WORKLOADS.contains(&entity.kind.as_str()) {
                        service.kind.clone_from(&entity.kind);
                        service.workload.clone_from(name);
                    }
                }
            }
        }
    }

    /// Components of the architecture, by the name that dependencies use.
    fn take_components(&mut self, declared: &Value) -> BTreeMap<String, usize> {
        let list = |pointer: &str| {
            declared.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
        };
        let text = |value: &Value, field: &str| {
            value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let mut known = BTreeMap::new();
        for component in list("/components/services") {
            let name = text(component, "name");
            if name.is_empty() {
                continue;
            }
            let at = self.service(plain(&name));
            known.insert(name, at);
        }
        for component in list("/components/infrastructure") {
            let name = text(component, "name");
            if name.is_empty() || text(component, "type") == "Observability" {
                continue;
            }
            // `cache` may run as `cache-main`.
            let begins = |named: &Service| named.name.starts_with(&format!("{name}-"));
            let running = self.system.services.iter().position(begins);
            let at = running.unwrap_or_else(|| self.service(&name));
            if let Some(service) = self.system.services.get_mut(at) {
                service.role = Role::Store;
            }
            known.insert(name, at);
        }
        known
    }

    fn take_dependencies(&mut self, declared: &Value, known: &BTreeMap<String, usize>) {
        let list = declared.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        let mut calls = BTreeSet::new();
        for dependency in list {
            let end = |field: &str| known.get(dependency.get(field)?.as_str()?).copied();
            let (Some(from), Some(to)) = (end("source"), end("target")) else { continue };
            let kind = dependency.get("type").and_then(Value::as_str).unwrap_or_default();
            let consumes = kind.eq_ignore_ascii_case("consumer");
            if from != to {
                calls.insert(Call { from, to, consumes });
            }
        }
        self.system.calls = calls.into_iter().collect();
    }

    /// Adds the calls that the chain of the truth presupposes, and finds who sends load.
    fn close_gaps(&mut self, given: &Scenario, declared: &Value, known: &BTreeMap<String, usize>) {
        for edge in &given.propagations {
            let ends =
                (self.system.of_group.get(&edge.source), self.system.of_group.get(&edge.target));
            let (Some(&cause), Some(&effect)) = ends else { continue };
            let linked = self.system.reaches(cause, effect) || self.system.reaches(effect, cause);
            let holds = given.groups.iter().any(|g| g.root_cause && g.kind == "ConfigMap");
            // What hands a changed configuration on is not called for it, unless it calls others.
            let calls = !holds || self.system.callees(cause).next().is_some();
            if cause != effect && !linked && calls {
                self.system.calls.push(Call { from: effect, to: cause, consumes: false });
            }
        }
        self.front(declared, known);
        let called: BTreeSet<usize> =
            self.system.calls.iter().filter(|c| !c.consumes).map(|c| c.to).collect();
        let calls: BTreeSet<usize> =
            self.system.calls.iter().filter(|c| !c.consumes).map(|c| c.from).collect();
        let consuming: BTreeSet<usize> =
            self.system.calls.iter().filter(|c| c.consumes).map(|c| c.from).collect();
        let senders = senders(declared, known);
        for at in calls.difference(&called).filter(|at| !consuming.contains(at)) {
            if let Some(service) = self.system.services.get_mut(*at) {
                if senders.contains(at) {
                    service.role = Role::Sending;
                }
                self.system.entries.push(*at);
            }
        }
        if self.system.entries.is_empty() {
            self.system.entries.push(0);
        }
    }

    /// A proxy without declared targets stands before what has no other callers.
    fn front(&mut self, declared: &Value, known: &BTreeMap<String, usize>) {
        let list = declared.pointer("/components/services").and_then(Value::as_array);
        for component in list.into_iter().flatten() {
            let is_proxy = component.get("type").and_then(Value::as_str) == Some("Proxy");
            let name = component.get("name").and_then(Value::as_str).unwrap_or_default();
            let Some(&proxy) = known.get(name).filter(|_| is_proxy) else { continue };
            if self.system.callees(proxy).next().is_some() {
                continue;
            }
            let uncalled: Vec<usize> = (0..self.system.services.len())
                .filter(|at| !self.system.calls.iter().any(|c| c.to == *at))
                .filter(|at| self.system.callees(*at).next().is_some())
                .filter(|at| !self.system.calls.iter().any(|c| c.from == *at && c.consumes))
                .filter(|at| !self.system.reaches(*at, proxy) && *at != proxy)
                .collect();
            for to in uncalled {
                self.system.calls.push(Call { from: proxy, to, consumes: false });
            }
        }
    }
}

/// Components whose description says that they make load.
fn senders(declared: &Value, known: &BTreeMap<String, usize>) -> BTreeSet<usize> {
    let list = declared.pointer("/components/services").and_then(Value::as_array);
    let says = |component: &Value| {
        ["role", "description", "type"].iter().any(|field| {
            let text = component.get(field).and_then(Value::as_str).unwrap_or_default();
            let text = text.to_lowercase();
            ["traffic", "simulat", "load gener", "load test"].iter().any(|word| text.contains(word))
        })
    };
    let sending = list.into_iter().flatten().filter(|component| says(component));
    sending.filter_map(|component| known.get(component.get("name")?.as_str()?).copied()).collect()
}

/// A name without the last `parts` between hyphens.
fn stem(name: &str, parts: usize) -> String {
    let mut rest = name;
    for _ in 0..parts {
        rest = rest.rsplit_once('-').map_or(rest, |(rest, _)| rest);
    }
    rest.to_owned()
}

/// The name under which a component runs: without `-service`.
fn plain(name: &str) -> &str {
    name.strip_suffix("-service").filter(|plain| !plain.is_empty()).unwrap_or(name)
}
