//! Edges that objects state: owners, selectors, mounts, placement, scaling, routes, experiments.

use std::collections::BTreeSet;

use eog_core::EntityId;
use eog_core::incident::EffectDirection::{SourceToTarget, TargetToSource};
use serde_json::Value;

use super::builder::Builder;
use super::experiments::aims;
use super::hosts::outside_entity;
use super::labels::selects;
use super::relation;
use super::selectable::Selectable;
use crate::json::{list, text};
use crate::names::{self, EntityName, WORKLOAD_KINDS, is_experiment_group};
use crate::read::Objects;

/// Kinds that stand behind a selector: workloads, and what runs without one.
const SELECTABLE_KINDS: [&str; 8] = [
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Rollout",
    "DeploymentConfig",
    "Job",
    "CronJob",
    "Pod",
];

/// Kinds that come and go all the time and are no part of the system's structure.
const TRANSIENT_KINDS: [&str; 3] = ["Event", "Lease", "ControllerRevision"];

impl Builder {
    /// Notes the names of services and workloads.
    pub(super) fn index_objects(&mut self, objects: &Objects) {
        for entity in objects.histories.keys() {
            let Some(namespace) = names::namespace_of(entity) else { continue };
            match names::kind_of(entity) {
                "Service" => self.index.add_service(namespace, names::bare(entity)),
                kind if WORKLOAD_KINDS.contains(&kind) => {
                    self.index.add_workload(namespace, names::bare(entity));
                }
                _ => {}
            }
        }
    }

    pub(super) fn add_objects(&mut self, objects: &Objects) {
        let selectable = Selectable::new(
            objects
                .histories
                .iter()
                .filter(|(entity, _)| SELECTABLE_KINDS.contains(&names::kind_of(entity)))
                .filter_map(|(entity, history)| Some((entity, history.latest()?))),
        );
        for (entity, history) in &objects.histories {
            if TRANSIENT_KINDS.contains(&names::kind_of(entity)) {
                continue;
            }
            self.topology.add_entity(entity.clone());
            for state in &history.states {
                self.add_object(entity, &state.object, &selectable);
            }
        }
    }

    fn add_object(&mut self, entity: &EntityId, object: &Value, pods: &Selectable<'_>) {
        let namespace = names::namespace_of(entity);
        self.add_owners(entity, object, namespace);
        self.add_mounts(entity, object, namespace);
        match names::kind_of(entity) {
            "Service" => {
                let outside = text(object, "/spec/externalName");
                let outside = outside.and_then(|host| outside_entity(host, &self.index));
                self.connect(Some(entity.clone()), relation::CALLS, outside, TargetToSource);
                let selector = object.pointer("/spec/selector").unwrap_or(&Value::Null);
                for backend in pods.by_map(namespace, selector) {
                    let (from, to) = (Some(backend.clone()), Some(entity.clone()));
                    self.connect(from, relation::BACKS, to, SourceToTarget);
                }
            }
            "Endpoints" | "EndpointSlice" => self.add_endpoints(entity, object, namespace),
            "Pod" => {
                let node = text(object, "/spec/nodeName");
                let node = node.and_then(|node| names::entity("", "Node", node));
                self.connect(Some(entity.clone()), relation::RUNS_ON, node, TargetToSource);
            }
            "PersistentVolumeClaim" => {
                let volume = text(object, "/spec/volumeName");
                let volume = volume.and_then(|name| names::entity("", "PersistentVolume", name));
                self.connect(Some(entity.clone()), relation::MOUNTS, volume, TargetToSource);
            }
            "HorizontalPodAutoscaler" | "VerticalPodAutoscaler" | "ScaledObject" => {
                let reference =
                    object.pointer("/spec/scaleTargetRef").or(object.pointer("/spec/targetRef"));
                let target = reference.and_then(|reference| scaled(reference, namespace));
                self.connect(Some(entity.clone()), relation::SCALES, target, SourceToTarget);
            }
            "Ingress" | "HTTPRoute" | "Route" | "VirtualService" => {
                for one in list(object, "/spec/tls") {
                    let secret = text(one, "/secretName");
                    let secret =
                        secret.and_then(|name| EntityName::new(namespace, "Secret", name).id());
                    self.connect(Some(entity.clone()), relation::MOUNTS, secret, TargetToSource);
                }
                for service in route_targets(object) {
                    let target = names::entity(namespace.unwrap_or_default(), "Service", &service);
                    let target = target.filter(|target| {
                        self.topology.contains(target)
                            || self.index.is_host(namespace.unwrap_or_default(), &service)
                    });
                    self.connect(Some(entity.clone()), relation::ROUTES, target, TargetToSource);
                }
            }
            "NetworkPolicy" => {
                let selector = object.pointer("/spec/podSelector").unwrap_or(&Value::Null);
                let aims = pods.within(namespace);
                for (target, _) in aims.filter(|(_, labels)| selects(selector, *labels)) {
                    let (from, to) = (Some(entity.clone()), Some(target.clone()));
                    self.connect(from, relation::RESTRICTS, to, SourceToTarget);
                }
            }
            "PodDisruptionBudget" => {
                let selector = object.pointer("/spec/selector").unwrap_or(&Value::Null);
                // Most select by a plain map, which is found without a scan of all pods.
                let map = selector.get("matchLabels").unwrap_or(&Value::Null);
                for target in pods.by_map(namespace, map) {
                    let guards = pods.labels_of(target).is_some_and(|all| selects(selector, all));
                    let to = Some(target.clone()).filter(|_| guards);
                    self.connect(Some(entity.clone()), relation::RESTRICTS, to, SourceToTarget);
                }
            }
            "ServiceEntry" => {
                for host in list(object, "/spec/hosts").filter_map(Value::as_str) {
                    let (from, to) = (Some(entity.clone()), outside_entity(host, &self.index));
                    self.connect(from, relation::RESTRICTS, to, SourceToTarget);
                }
            }
            "Certificate" => self.add_certificate(entity, object, namespace),
            _ if is_experiment(object) => self.add_experiment(entity, object, namespace, pods),
            _ => {}
        }
    }

    /// A certificate of cert-manager fills a Secret, and an issuer signs it.
    fn add_certificate(&mut self, entity: &EntityId, object: &Value, namespace: Option<&str>) {
        let secret = text(object, "/spec/secretName");
        let secret = secret.and_then(|name| EntityName::new(namespace, "Secret", name).id());
        self.connect(Some(entity.clone()), relation::ISSUES, secret, SourceToTarget);
        let kind = text(object, "/spec/issuerRef/kind").unwrap_or("Issuer");
        let home = namespace.filter(|_| !kind.starts_with("Cluster"));
        let issuer = text(object, "/spec/issuerRef/name");
        let issuer = issuer.and_then(|name| EntityName::new(home, kind, name).id());
        self.connect(issuer, relation::ISSUES, Some(entity.clone()), SourceToTarget);
    }

    fn add_owners(&mut self, entity: &EntityId, object: &Value, namespace: Option<&str>) {
        for owner in list(object, "/metadata/ownerReferences") {
            let owner = referred(owner, namespace);
            self.connect(owner, relation::OWNS, Some(entity.clone()), SourceToTarget);
        }
    }

    /// What the pod template, or a pod without a known owner, mounts or reads; of other pods the
    /// claims, which the template of a StatefulSet does not name.
    fn add_mounts(&mut self, entity: &EntityId, object: &Value, namespace: Option<&str>) {
        let is_pod = names::kind_of(entity) == "Pod";
        let own = object.get("spec").filter(|_| is_pod);
        let template = pod_spec(object);
        let Some(spec) = template.or(own) else { return };
        let mut mounts = mounted(spec);
        mounts.retain(|(kind, _)| template.is_some() || *kind == "PersistentVolumeClaim");
        for (kind, name) in mounts {
            let target = names::entity(namespace.unwrap_or_default(), kind, &name);
            self.connect(Some(entity.clone()), relation::MOUNTS, target, TargetToSource);
        }
    }

    fn add_endpoints(&mut self, entity: &EntityId, object: &Value, namespace: Option<&str>) {
        let service = text(object, "/metadata/labels/kubernetes.io~1service-name");
        let service = service.unwrap_or_else(|| names::bare(entity));
        let namespace = namespace.unwrap_or_default();
        let service = names::entity(namespace, "Service", service);
        for reference in target_references(object) {
            let pod = referred(reference, Some(namespace));
            let pod = pod.filter(|pod| names::kind_of(pod) == "Pod");
            self.connect(pod, relation::BACKS, service.clone(), SourceToTarget);
        }
    }

    /// A fault experiment aims at what its selector selects, in the namespaces that it names.
    fn add_experiment(
        &mut self,
        entity: &EntityId,
        object: &Value,
        namespace: Option<&str>,
        pods: &Selectable<'_>,
    ) {
        for aim in aims(object) {
            for (target, labels) in pods.all() {
                if aim.hits(target, *labels, namespace) {
                    let (from, to) = (Some(entity.clone()), Some((*target).clone()));
                    self.connect(from, relation::INJECTS, to, SourceToTarget);
                }
            }
            for (home, name) in aim.pods() {
                let pod = names::entity(home, "Pod", name);
                self.connect(Some(entity.clone()), relation::INJECTS, pod, SourceToTarget);
            }
        }
    }
}

/// Whether an object defines a fault experiment, by the name of its API group.
pub(crate) fn is_experiment(object: &Value) -> bool {
    text(object, "/apiVersion").is_some_and(is_experiment_group)
}

/// What an autoscaler scales: a Deployment unless it says otherwise.
fn scaled(reference: &Value, namespace: Option<&str>) -> Option<EntityId> {
    let kind = text(reference, "/kind").unwrap_or("Deployment");
    EntityName::new(namespace, kind, text(reference, "/name")?).id()
}

/// The object that a reference with `kind` and `name` means.
fn referred(reference: &Value, namespace: Option<&str>) -> Option<EntityId> {
    let kind = text(reference, "/kind")?;
    let namespace = match kind {
        "Node" => None,
        _ => text(reference, "/namespace").or(namespace),
    };
    EntityName::new(namespace, kind, text(reference, "/name")?).id()
}

/// The pod specification of a workload, a job, a scheduled job or a pod.
pub(crate) fn pod_spec(object: &Value) -> Option<&Value> {
    let templates = ["/spec/jobTemplate/spec/template/spec", "/spec/template/spec"];
    let template = templates.iter().find_map(|pointer| object.pointer(pointer));
    let is_pod = text(object, "/kind") == Some("Pod");
    let owned = object.pointer("/metadata/ownerReferences/0").is_some();
    template.or_else(|| object.get("spec").filter(|_| is_pod && !owned))
}

/// The containers of a pod specification, those that run first included.
pub(crate) fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    list(spec, "/containers").chain(list(spec, "/initContainers"))
}

/// Kind and name of everything that a pod specification mounts or reads.
fn mounted(spec: &Value) -> BTreeSet<(&'static str, String)> {
    let mut found = BTreeSet::new();
    let mut add = |kind: &'static str, value: Option<&Value>, field: &str| {
        let name = value.and_then(|value| value.get(field)).and_then(Value::as_str);
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            found.insert((kind, name.to_owned()));
        }
    };
    for volume in list(spec, "/volumes") {
        add("ConfigMap", volume.get("configMap"), "name");
        add("Secret", volume.get("secret"), "secretName");
        add("PersistentVolumeClaim", volume.get("persistentVolumeClaim"), "claimName");
        for source in list(volume, "/projected/sources") {
            add("ConfigMap", source.get("configMap"), "name");
            add("Secret", source.get("secret"), "name");
        }
    }
    for container in containers(spec) {
        for source in list(container, "/envFrom") {
            add("ConfigMap", source.get("configMapRef"), "name");
            add("Secret", source.get("secretRef"), "name");
        }
        for variable in list(container, "/env") {
            add("ConfigMap", variable.pointer("/valueFrom/configMapKeyRef"), "name");
            add("Secret", variable.pointer("/valueFrom/secretKeyRef"), "name");
        }
    }
    // Every pod mounts the cluster's own certificate; it says nothing about the application.
    found.retain(|(_, name)| name != "kube-root-ca.crt" && name != "openshift-service-ca.crt");
    found
}

fn target_references(object: &Value) -> impl Iterator<Item = &Value> {
    let of_subset = |subset| list(subset, "/addresses").chain(list(subset, "/notReadyAddresses"));
    let addresses = list(object, "/subsets").flat_map(of_subset);
    list(object, "/endpoints").chain(addresses).filter_map(|one| one.get("targetRef"))
}

/// The services that a route object sends requests to.
fn route_targets(object: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![object.get("spec").unwrap_or(&Value::Null)];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                let routes = [
                    "/backend/service/name",
                    "/backend/serviceName",
                    "/destination/host",
                    "/defaultBackend/service/name",
                    "/to/name",
                ];
                let hosts = routes.into_iter().filter_map(|place| text(value, place));
                found.extend(hosts.map(|host| host.split('.').next().unwrap_or(host).to_owned()));
                let named = list(value, "/backendRefs").filter_map(|one| text(one, "/name"));
                found.extend(named.map(str::to_owned));
                open.extend(map.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}
