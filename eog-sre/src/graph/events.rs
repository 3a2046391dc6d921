//! Edges that events and log lines speak of: who was evicted from where, who took whose place, and who
//! could not resolve names.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::EntityId;
use eog_core::incident::EffectDirection::{SourceToTarget, TargetToSource};

use super::builder::Builder;
use super::relation;
use crate::json::text;
use crate::names;
use crate::snapshot::Snapshot;

/// The label with its value that Kubernetes' own name service carries, be it CoreDNS or kube-dns.
const NAME_SERVICE: (&str, &str) = ("/metadata/labels/k8s-app", "kube-dns");

/// How resolvers of C, Go, Java, Node.js and of Kubernetes say that a name was not resolved, in lower
/// case.
const UNRESOLVED: [&str; 9] = [
    "no such host",
    "servfail",
    "server misbehaving",
    "temporary failure in name resolution",
    "name or service not known",
    "could not resolve host",
    "unknownhostexception",
    "getaddrinfo enotfound",
    "getaddrinfo eai_again",
];

impl Builder {
    /// Pods that were evicted ran on the node whose kubelet says so; pods that were preempted gave
    /// way to another workload.
    pub(super) fn add_evictions(&mut self, snapshot: &Snapshot) {
        let preempted = || snapshot.events.iter().filter(|event| event.reason == "Preempted");
        let mut by_uid: BTreeMap<&str, &EntityId> = BTreeMap::new();
        if preempted().next().is_some() {
            for (entity, history) in &snapshot.objects.histories {
                let uid = history.latest().and_then(|object| text(object, "/metadata/uid"));
                if let Some(uid) = uid.filter(|_| names::kind_of(entity) == "Pod") {
                    by_uid.insert(uid, entity);
                }
            }
        }
        for event in preempted() {
            let Some(by) = preemptor(&event.message) else { continue };
            let (from, to) = match by_uid.get(by) {
                Some(pod) => (self.top_owner(pod), self.top_owner(&event.entity)),
                None => continue,
            };
            self.connect(Some(from), relation::PREEMPTS, Some(to), SourceToTarget);
        }
        for event in snapshot.events.iter().filter(|event| event.reason == "Evicted") {
            let node = names::entity("", "Node", &event.host);
            let pod = Some(event.entity.clone()).filter(|pod| names::kind_of(pod) == "Pod");
            self.connect(pod, relation::RUNS_ON, node, TargetToSource);
        }
    }

    /// Everything resolves names. Only who says that this failed is joined with the name service.
    pub(super) fn add_resolvers(&mut self, snapshot: &Snapshot) {
        let mut resolvers = Vec::new();
        for (entity, history) in &snapshot.objects.histories {
            let label = history.latest().and_then(|object| text(object, NAME_SERVICE.0));
            let serves = label == Some(NAME_SERVICE.1);
            if serves && names::kind_of(entity) == "Service" {
                resolvers.push(entity.clone());
            }
        }
        if resolvers.is_empty() {
            return;
        }
        let mut failing: BTreeSet<EntityId> = BTreeSet::new();
        // By pattern and sender: most lines repeat others.
        let mut patterns: BTreeMap<u32, bool> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for line in snapshot.logs.iter() {
            let pattern = line.pattern_number();
            let speaks = patterns.entry(pattern).or_insert_with(|| is_unresolved(line.pattern()));
            if *speaks && seen.insert(line.sender_number()) {
                let sender = line.sender();
                if !sender.service.is_empty() {
                    failing.extend(self.service(&sender.namespace, &sender.service));
                }
            }
        }
        for event in snapshot.events.iter().filter(|event| is_unresolved(&event.message)) {
            failing.insert(self.top_owner(&event.entity));
        }
        for resolver in resolvers {
            for entity in &failing {
                let to = Some(resolver.clone());
                self.connect(Some(entity.clone()), relation::USES, to, TargetToSource);
            }
        }
    }
}

fn is_unresolved(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    UNRESOLVED.iter().any(|said| text.contains(said))
}

/// The uid of the pod that took the place, as the scheduler says it: `Preempted by pod UID on node N`.
fn preemptor(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("Preempted by pod ")?;
    rest.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_lookups_and_preemptors_are_read() {
        for text in [
            "dial tcp: lookup cart on 10.0.0.10:53: no such host",
            "java.net.UnknownHostException: cart",
            "Temporary failure in name resolution",
        ] {
            assert!(is_unresolved(text), "{text}");
        }
        assert!(!is_unresolved("connection refused by cart"));
        assert_eq!(preemptor("Preempted by pod 1a-2b on node n1"), Some("1a-2b"));
        assert_eq!(preemptor("Preempted by a pod on node n1"), None);
    }
}
