//! Edges that telemetry shows: traced calls, proxies, and who sent what from where.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::EntityId;
use eog_core::incident::Edge;
use eog_core::incident::EffectDirection::{SourceToTarget, TargetToSource};

use super::builder::Builder;
use super::hosts::{hosts, outside_entity};
use super::relation;
use crate::names::{self, WORKLOAD_KINDS};
use crate::read::{Resource, Subject};
use crate::snapshot::Snapshot;
use crate::store::{SpanKind, SpanRef};

/// Most hosts outside of the cluster that a service can depend on.
const MAX_OUTSIDE: usize = 20;

impl Builder {
    /// Notes the service names that telemetry uses, with how often it does.
    pub(super) fn index_telemetry(&mut self, snapshot: &Snapshot) {
        let mut named: BTreeSet<(String, String)> = BTreeSet::new();
        for sender in senders(snapshot) {
            named.insert((sender.namespace.clone(), sender.service.clone()));
        }
        for series in snapshot.metrics.iter().filter(|one| one.subject == Subject::Service) {
            named.insert((series.namespace.to_string(), series.name.to_string()));
        }
        for alert in &snapshot.alerts {
            let (space, name) = (alert.label("namespace"), alert.label("service_name"));
            named.insert((space.to_owned(), name.to_owned()));
        }
        for (namespace, name) in &named {
            if !namespace.is_empty() && !name.is_empty() {
                self.index.add_telemetry(namespace, name);
            }
        }
    }

    /// Services that alerts speak of: the workload of that name stands behind each.
    pub(super) fn add_alerted(&mut self, snapshot: &Snapshot) {
        for alert in &snapshot.alerts {
            let (space, name) = (alert.label("namespace"), alert.label("service_name"));
            if !space.is_empty() && !name.is_empty() {
                self.service(space, name);
            }
        }
    }

    pub(super) fn add_telemetry(&mut self, snapshot: &Snapshot) {
        for sender in senders(snapshot) {
            self.add_sender(&sender);
        }
        for Call { caller, relation, callee, by_host } in calls(snapshot) {
            let space = if callee.0.is_empty() { &caller.0 } else { &callee.0 };
            if by_host && !self.index.is_host(space, &callee.1) {
                continue;
            }
            let from = self.service(&caller.0, &caller.1);
            let to = self.service(space, &callee.1);
            let effects = if relation == relation::CALLS { TargetToSource } else { SourceToTarget };
            self.connect(from, relation, to, effects);
        }
        for series in snapshot.metrics.iter().filter(|one| one.subject == Subject::Service) {
            self.service(&series.namespace, &series.name);
        }
        self.add_outside(snapshot);
    }

    /// Hosts outside of the cluster that client spans name: they record no spans.
    fn add_outside(&mut self, snapshot: &Snapshot) {
        let mut seen = BTreeSet::new();
        let mut called: BTreeMap<EntityId, BTreeSet<EntityId>> = BTreeMap::new();
        for span in snapshot.spans.iter().filter(|span| span.kind() == SpanKind::Client) {
            let sender = span.sender();
            if sender.service.is_empty()
                || span.callee_number().is_some()
                || !seen.insert(span.address())
            {
                continue;
            }
            let known = span_callee(span).is_some_and(|((space, name), by_host)| {
                let space = if space.is_empty() { &sender.namespace } else { &space };
                !by_host || self.index.is_host(space, &name)
            });
            let host = span.peer_host().filter(|_| !known);
            let host = host.and_then(|host| outside_entity(host, &self.index));
            let caller = host.is_some().then(|| self.service(&sender.namespace, &sender.service));
            if let (Some(host), Some(Some(caller))) = (host, caller) {
                called.entry(caller).or_default().insert(host);
            }
        }
        // A service that talks to any number of hosts, such as a crawler, depends on none of them.
        called.retain(|_, hosts| hosts.len() <= MAX_OUTSIDE);
        for (caller, hosts) in called {
            for host in hosts {
                self.connect(Some(caller.clone()), relation::CALLS, Some(host), TargetToSource);
            }
        }
    }

    /// The topmost owner.
    pub(super) fn top_owner(&self, entity: &EntityId) -> EntityId {
        let mut seen = BTreeSet::from([entity.clone()]);
        let mut top = entity.clone();
        loop {
            let is_up = |edge: &&Edge| edge.relation == relation::OWNS && edge.target == top;
            let up = self.topology.edges_at(&top).find(is_up).map(|edge| edge.source.clone());
            match up.filter(|owner| seen.insert(owner.clone())) {
                Some(owner) => top = owner,
                None => return top,
            }
        }
    }

    /// Workloads behind services that send requests and serve none: their settings decide how much
    /// load there is.
    pub(super) fn add_sources_of_load(&mut self, snapshot: &Snapshot) {
        let mut senders: BTreeSet<EntityId> = BTreeSet::new();
        let mut servers: BTreeSet<EntityId> = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for span in snapshot.spans.iter() {
            let serves = matches!(span.kind(), SpanKind::Server | SpanKind::Consumer);
            if seen.insert((span.sender_number(), serves)) {
                let sender = span.sender();
                let service = self.index.service(&sender.namespace, &sender.service);
                senders.extend(service.clone().filter(|_| !sender.service.is_empty()));
                servers.extend(service.filter(|_| serves));
            }
        }
        for service in senders.difference(&servers) {
            let edges = || self.topology.edges_at(service);
            let is_called = |edge: &Edge| {
                let asks = [relation::CALLS, relation::SENDS_LOAD, relation::ROUTES];
                edge.target == *service && asks.contains(&edge.relation.as_str())
            };
            let calls = |edge: &Edge| edge.source == *service && edge.relation == relation::CALLS;
            if edges().any(is_called) || !edges().any(calls) {
                continue;
            }
            let behind = edges().filter(|edge| {
                edge.relation == relation::BACKS
                    && edge.target == *service
                    && WORKLOAD_KINDS.contains(&names::kind_of(&edge.source))
            });
            let workloads: Vec<EntityId> = behind.map(|edge| edge.source.clone()).collect();
            for workload in workloads {
                let (from, to) = (Some(workload), Some(service.clone()));
                self.connect(from, relation::SENDS_LOAD, to, SourceToTarget);
            }
        }
    }

    fn add_sender(&mut self, sender: &Resource) {
        let service = match sender.service.is_empty() {
            true => None,
            false => self.service(&sender.namespace, &sender.service),
        };
        let entity = |kind: &str, name: &str| match name.is_empty() {
            true => None,
            false => names::entity(&sender.namespace, kind, name),
        };
        let pod = entity("Pod", &sender.pod);
        let workload = sender.workload.as_ref().and_then(|(kind, name)| entity(kind, name));
        let node = match sender.node.is_empty() {
            true => None,
            false => names::entity("", "Node", &sender.node),
        };
        self.connect(workload.clone(), relation::BACKS, service.clone(), SourceToTarget);
        self.connect(pod.clone(), relation::BACKS, service, SourceToTarget);
        self.connect(pod.clone(), relation::RUNS_ON, node, TargetToSource);
        let owned = pod.as_ref().is_some_and(|pod| self.has_owner(pod));
        if !owned {
            self.connect(workload, relation::OWNS, pod, SourceToTarget);
        }
    }

    fn has_owner(&self, entity: &EntityId) -> bool {
        let mut edges = self.topology.edges_at(entity);
        edges.any(|edge| edge.relation == relation::OWNS && edge.target == *entity)
    }

    /// Pods that only metrics or events know: their workload follows from how Kubernetes names
    /// pods, `workload-hash-suffix` or `workload-ordinal`, when there is such a workload.
    pub(super) fn add_pods_by_name(&mut self, snapshot: &Snapshot) {
        let of_metrics = snapshot.metrics.iter().filter(|series| series.subject == Subject::Pod);
        let of_metrics =
            of_metrics.filter_map(|one| names::entity(&one.namespace, "Pod", &one.name));
        let of_events = snapshot.events.iter().map(|event| event.entity.clone());
        let entities: BTreeSet<EntityId> = of_metrics.chain(of_events).collect();
        for entity in entities {
            self.topology.add_entity(entity.clone());
            let Some(namespace) = names::namespace_of(&entity) else { continue };
            if names::kind_of(&entity) != "Pod" || self.has_owner(&entity) {
                continue;
            }
            let stems = workload_stems(names::bare(&entity));
            let candidates = stems.into_iter().filter_map(|(kinds, stem)| {
                let owners = kinds.iter().filter_map(|kind| names::entity(namespace, kind, stem));
                owners.into_iter().find(|owner| self.topology.contains(owner))
            });
            let owner = candidates.into_iter().next();
            self.connect(owner, relation::OWNS, Some(entity), SourceToTarget);
        }
    }
}

/// The workload names that a pod name can come from, with the kinds that name pods so.
fn workload_stems(pod: &str) -> Vec<(&'static [&'static str], &str)> {
    let Some((stem, suffix)) = pod.rsplit_once('-') else { return Vec::new() };
    let mut stems: Vec<(&'static [&'static str], &str)> = Vec::new();
    if suffix.bytes().all(|b| b.is_ascii_digit()) {
        stems.push((&["StatefulSet"], stem));
    }
    if suffix.len() == 5 {
        if let Some((workload, _)) = stem.rsplit_once('-') {
            stems.push((&["Deployment", "Rollout"], workload));
        }
        stems.push((&["DaemonSet", "Job"], stem));
    }
    stems
}

/// Every distinct sender of spans and log lines.
fn senders(snapshot: &Snapshot) -> Vec<Arc<Resource>> {
    let senders = snapshot.spans.senders.iter().chain(&snapshot.logs.senders).cloned();
    let mut senders: Vec<Arc<Resource>> = senders.collect();
    let key = |sender: &Arc<Resource>| {
        let Resource { service, namespace, pod, node, workload, .. } = sender.as_ref().clone();
        (namespace, service, pod, node, workload)
    };
    senders.sort_by_cached_key(key);
    senders.dedup();
    senders
}

/// Namespace and name of a service.
type Named = (String, String);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    caller: Named,
    relation: &'static str,
    callee: Named,
    /// Whether the callee is only a host name, which may lie outside of the system.
    by_host: bool,
}

fn calls(snapshot: &Snapshot) -> BTreeSet<Call> {
    let named = |sender: &Resource| (sender.namespace.clone(), sender.service.clone());
    let mut found = BTreeSet::new();
    // Most spans repeat a call of others.
    let (mut taken, mut addressed) = (BTreeSet::new(), BTreeSet::new());
    for span in snapshot.spans.iter().filter(|span| !span.sender().service.is_empty()) {
        let parent = span.parent().filter(|parent| {
            let service = &parent.sender().service;
            let call = (parent.sender_number(), parent.kind(), span.sender_number(), span.kind());
            !service.is_empty() && *service != span.sender().service && taken.insert(call)
        });
        if let Some(parent) = parent {
            let relation = match (parent.kind(), span.kind()) {
                (SpanKind::Producer, _) | (_, SpanKind::Consumer) => relation::SENDS_LOAD,
                _ => relation::CALLS,
            };
            let (caller, callee) = (named(parent.sender()), named(span.sender()));
            found.insert(Call { caller, relation, callee, by_host: false });
        }
        if span.kind() == SpanKind::Client
            && addressed.insert(span.address())
            && let Some((callee, by_host)) = span_callee(span)
        {
            let caller = named(span.sender());
            found.insert(Call { caller, relation: relation::CALLS, callee, by_host });
        }
    }
    for series in snapshot.metrics.iter().filter(|one| one.subject == Subject::Service) {
        let label = |name: &str| series.labels.get(name).map(String::as_str).unwrap_or_default();
        let is_client = label("span_kind").to_ascii_lowercase().ends_with("client");
        if let Some(cluster) = egress_cluster(label("span_name")).filter(|_| is_client) {
            let caller = (series.namespace.to_string(), series.name.to_string());
            let callee = (String::new(), cluster.to_owned());
            found.insert(Call { caller, relation: relation::CALLS, callee, by_host: false });
        }
    }
    found
}

/// The service that a client span says it talks to: by a proxy's span name, else by host name
/// (then true).
pub(crate) fn span_callee(span: SpanRef<'_>) -> Option<(Named, bool)> {
    if span.kind() != SpanKind::Client {
        return None;
    }
    if let Some(cluster) = egress_cluster(span.name()) {
        return Some(((String::new(), cluster.to_owned()), false));
    }
    let host = hosts(span.peer_host()?).into_iter().next()?;
    let is_name = host.name.bytes().any(|b| b.is_ascii_alphabetic()) && host.name != "localhost";
    let is_self = host.name == span.sender().service;
    (is_name && !is_self).then(|| ((host.namespace.unwrap_or_default(), host.name), true))
}

/// The cluster of an Envoy span name, `router <cluster> egress`.
pub(crate) fn egress_cluster(span_name: &str) -> Option<&str> {
    let inner = span_name.strip_prefix("router ")?.strip_suffix(" egress")?.trim();
    (!inner.is_empty() && !inner.contains(char::is_whitespace)).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_and_pods_are_understood_by_their_naming_rules() {
        assert_eq!(egress_cluster("router web egress"), Some("web"));
        assert_eq!(egress_cluster("router  egress"), None);
        assert_eq!(egress_cluster("GET /"), None);
        let stems = workload_stems("cart-service-7db4f-x2x9z");
        assert!(stems.contains(&(["Deployment", "Rollout"].as_slice(), "cart-service")));
        assert!(workload_stems("db-0").contains(&(["StatefulSet"].as_slice(), "db")));
        assert!(workload_stems("single").is_empty());
    }
}
