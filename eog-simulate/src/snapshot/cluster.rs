//! The cluster over time: its objects, what is done to them, its events, and which pods run.

use std::collections::BTreeMap;

use crate::random::{RandomSeed, Stream};
use serde_json::{Value, json};

use super::fault::{Fault, Root};
use super::manifests as make;
use super::noise::Noise;
use super::plan::Plan;
use super::system::{Role, System};
use crate::clock::{Clock, MINUTE, Ms, SECOND};

/// A person or pipeline that applies changes.
const PIPELINE: &str = "helm";
const PERSON: &str = "kubectl-edit";
const CONTROLLER: &str = "kube-controller-manager";
const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];

/// Identity of an object: namespace, kind, name.
type Key = (String, String, String);

/// A thing done to the cluster at a time.
enum Act {
    Put(Box<Value>),
    Delete(Key),
    /// Sets what a pointer names.
    Set {
        key: Key,
        pointer: String,
        value: Value,
        manager: &'static str,
    },
}

/// An event of the cluster.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) at: Ms,
    pub(super) regarding: (String, String, String),
    pub(super) api_version: String,
    pub(super) reason: &'static str,
    pub(super) warning: bool,
    pub(super) message: String,
    pub(super) component: &'static str,
    pub(super) count: u64,
}

/// The cluster over time.
pub(super) struct Cluster {
    clock: Clock,
    now: BTreeMap<Key, Value>,
    acts: Vec<(Ms, Act)>,
    pub(super) events: Vec<Event>,
    /// By service: its pods by the time from which each serves.
    pub(super) pods: Vec<Vec<(Ms, String)>>,
    /// By service: the pod that waits, if one does.
    pub(super) pending: BTreeMap<usize, String>,
    replica_sets: Vec<String>,
    specs: Vec<Value>,
    draw: Stream,
}

impl Cluster {
    pub(super) fn new(
        system: &System,
        plan: &Plan,
        noise: &Noise,
        clock: Clock,
        length: Ms,
        seed: RandomSeed,
    ) -> Self {
        let mut cluster = Self {
            clock,
            now: BTreeMap::new(),
            acts: Vec::new(),
            events: Vec::new(),
            pods: Vec::new(),
            pending: BTreeMap::new(),
            replica_sets: Vec::new(),
            specs: Vec::new(),
            draw: seed.stream("cluster"),
        };
        cluster.begin(system, plan, noise);
        for (service, at, field) in &noise.rollouts {
            cluster.harmless_rollout(system, *service, *at, *field);
        }
        for (service, at) in &noise.edits {
            let key = key(&system.namespace, "ConfigMap", &settings_name(system, *service));
            let size = cluster.draw.between(10, 90);
            let pointer = "/data/settings.properties".to_owned();
            let value = json!(settings(size));
            cluster.set(*at, key, &pointer, value, PIPELINE);
        }
        for (service, at) in &noise.restarts {
            cluster.restart(system, *service, *at, "Error", 1);
        }
        cluster.chatter(system, length);
        for root in &plan.roots {
            cluster.apply(root, system, plan, length);
        }
        cluster.acts.sort_by_key(|(at, _)| *at);
        cluster.events.sort_by_key(|event| event.at);
        cluster
    }

    /// Every object as it is at a time. Times must not go back.
    pub(super) fn objects_at(&mut self, at: Ms) -> impl Iterator<Item = (&str, &Value)> {
        let due = self.acts.partition_point(|(when, _)| *when <= at);
        for (when, act) in self.acts.drain(..due).collect::<Vec<_>>() {
            self.perform(when, act);
        }
        self.now.iter().map(|((namespace, ..), object)| (namespace.as_str(), object))
    }

    /// The pod of a service that serves at a time.
    pub(super) fn pod(&self, service: usize, at: Ms) -> &str {
        let pods = self.pods.get(service).map(Vec::as_slice).unwrap_or_default();
        let serving = pods.iter().rev().find(|(from, _)| *from <= at).or(pods.first());
        serving.map_or("", |(_, name)| name)
    }

    fn perform(&mut self, at: Ms, act: Act) {
        match act {
            Act::Put(object) => {
                let text = |pointer: &str| {
                    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
                };
                let key = (text("/metadata/namespace"), text("/kind"), text("/metadata/name"));
                self.now.insert(key, *object);
            }
            Act::Delete(key) => {
                self.now.remove(&key);
            }
            Act::Set { key, pointer, value, manager } => {
                let Some(object) = self.now.get_mut(&key) else { return };
                put(object, &pointer, value);
                let clock = self.clock;
                if !pointer.starts_with("/status") {
                    let generation = object["metadata"]["generation"].as_u64().unwrap_or(1) + 1;
                    object["metadata"]["generation"] = json!(generation);
                }
                let version = object["metadata"]["resourceVersion"].as_str().unwrap_or("1");
                let version = version.parse::<u64>().unwrap_or(1) + 7;
                object["metadata"]["resourceVersion"] = json!(version.to_string());
                let written = make::writer(clock, manager, at);
                if let Some(fields) = object["metadata"]["managedFields"].as_array_mut() {
                    fields.retain(|field| field["manager"] != json!(manager));
                    fields.push(written);
                }
            }
        }
    }

    fn set(&mut self, at: Ms, key: Key, pointer: &str, value: Value, manager: &'static str) {
        self.acts.push((at, Act::Set { key, pointer: pointer.to_owned(), value, manager }));
    }

    fn metadata(&mut self, namespace: Option<&str>, name: &str, created: Ms, by: &str) -> Value {
        make::metadata(self.clock, namespace, name, created, by, &mut self.draw)
    }

    /// The objects from before the recording.
    fn begin(&mut self, system: &System, plan: &Plan, noise: &Noise) {
        let long_ago = -26 * 60 * MINUTE;
        let space = system.namespace.clone();
        for name in NODES {
            let metadata = self.metadata(None, name, long_ago, "kubelet");
            let ready = json!([{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "False"}]);
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata,
                "status": {"conditions": ready}});
            self.perform(long_ago, Act::Put(Box::new(node)));
        }
        let metadata = self.metadata(None, &space, long_ago, PIPELINE);
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata,
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
        self.perform(long_ago, Act::Put(Box::new(object)));

        let users = plan.surge.map_or(0, |_| 10);
        for (at, service) in system.services.iter().enumerate() {
            let (mut environment, mut configs) = environment(system, at);
            if service.role == Role::Sending {
                environment.push(("USERS".to_owned(), users.max(10).to_string()));
            }
            if let Some(holder) = plan.holder {
                // The clients of a reader of configuration, and a few others.
                let reads = plan.hits.get(&at).is_some_and(|hit| hit.carries == 0.0)
                    || plan.surge.is_some_and(|(sender, ..)| sender == at)
                    || self.draw.chance(0.3);
                if reads && holder != at {
                    let host = &system.services[holder].name;
                    environment.push(("SWITCHES_HOST".to_owned(), host.clone()));
                }
            }
            for root in plan.roots.iter().filter(|root| matches!(root.fault, Fault::Data(..))) {
                let mounts = match plan.holder {
                    Some(holder) => holder == at,
                    None => root.first.contains(&at),
                };
                if mounts {
                    configs.push(root.name.clone());
                }
            }
            if noise.edits.iter().any(|(of, _)| *of == at) {
                configs.push(settings_name(system, at));
            }
            // No node has had the label for long; that shows when the pod has to move.
            let stuck = |root: &Root| root.fault == Fault::PodLost && root.service == Some(at);
            let lost = plan.roots.iter().any(stuck);
            self.start_service(system, at, &environment, &configs, long_ago, lost);
        }
        for (service, _) in &noise.edits {
            let metadata =
                self.metadata(Some(&space), &settings_name(system, *service), long_ago, PIPELINE);
            let size = self.draw.between(10, 90);
            let map =
                make::config_map("ConfigMap", &metadata, "settings.properties", &settings(size));
            self.perform(long_ago, Act::Put(Box::new(map)));
        }
    }

    fn start_service(
        &mut self,
        system: &System,
        at: usize,
        environment: &[(String, String)],
        configs: &[String],
        created: Ms,
        unplaceable: bool,
    ) {
        let service = &system.services[at];
        let space = Some(system.namespace.as_str());
        let tag = self.draw.between(10, 99);
        let mut spec = make::pod_spec(&service.name, tag, environment, configs);
        if unplaceable {
            put(&mut spec, "/nodeSelector", json!({"disk": "none-such"}));
        }
        let metadata = self.metadata(space, &service.workload, created, PIPELINE);
        let object = make::workload(&service.kind, &metadata, &service.name, &spec, self.clock);
        self.perform(created, Act::Put(Box::new(object)));
        let metadata = self.metadata(space, &service.name, created, PIPELINE);
        self.perform(created, Act::Put(Box::new(make::service(&metadata, &service.name))));
        self.replica_sets.push(String::new());
        self.pods.push(Vec::new());
        self.specs.push(spec);
        let (set, name) = self.pod_names(system, at);
        let name = service.first_pod.clone().unwrap_or(name);
        self.put_pod(system, at, created, &set, &name);
        if let Some(pods) = self.pods.get_mut(at) {
            pods.push((created, name));
        }
    }

    /// Names for a new ReplicaSet and its pod.
    fn pod_names(&mut self, system: &System, at: usize) -> (String, String) {
        let service = &system.services[at];
        let name = &service.workload;
        if service.kind != "Deployment" {
            let suffix = if service.kind == "StatefulSet" {
                "0".into()
            } else {
                make::suffix(5, &mut self.draw)
            };
            return (name.clone(), format!("{name}-{suffix}"));
        }
        let set = format!("{name}-{}", make::suffix(9, &mut self.draw));
        let pod = format!("{set}-{}", make::suffix(5, &mut self.draw));
        (set, pod)
    }

    /// Makes a pod, and its ReplicaSet where it has one.
    fn put_pod(&mut self, system: &System, at: usize, when: Ms, set: &str, name: &str) {
        let service = &system.services[at];
        let space = Some(system.namespace.as_str());
        let spec = self.specs[at].clone();
        let owner = match service.kind.as_str() {
            "Deployment" => "ReplicaSet",
            kind => kind,
        };
        if owner == "ReplicaSet" && self.replica_sets[at] != set {
            let metadata = self.metadata(space, set, when, CONTROLLER);
            let object = make::replica_set(metadata, &service.workload, &service.name, &spec);
            self.acts.push((when, Act::Put(Box::new(object))));
            self.replica_sets[at] = set.to_owned();
        }
        let node = NODES[self.draw.position(NODES.len())];
        let metadata = self.metadata(space, name, when, CONTROLLER);
        let pod = make::pod(metadata, (owner, set), &service.name, node, &spec);
        self.acts.push((when, Act::Put(Box::new(pod))));
    }

    /// A new version that does the same.
    fn harmless_rollout(&mut self, system: &System, at: usize, when: Ms, field: u64) {
        let service = &system.services[at];
        let container = "/containers/0";
        let (pointer, value) = match field {
            0 => {
                let tag = self.draw.between(10, 99);
                let image =
                    format!("registry.example/{}:3.{}.{}", service.name, tag / 10, tag % 10);
                (format!("{container}/image"), json!(image))
            }
            1 => (format!("{container}/resources/requests/memory"), json!("128Mi")),
            _ => (format!("{container}/env/0/value"), json!("debug")),
        };
        put(&mut self.specs[at], &pointer, value.clone());
        let workload = key(&system.namespace, &service.kind, &service.workload);
        self.set(when, workload, &format!("/spec/template/spec{pointer}"), value, PIPELINE);
        self.replace_pod(system, at, when);
    }

    /// The pod of a service is replaced by a new one that works.
    fn replace_pod(&mut self, system: &System, at: usize, when: Ms) {
        let service = system.services[at].clone();
        let old = self.pod(at, when).to_owned();
        let old_set = self.replica_sets[at].clone();
        let (set, name) = self.pod_names(system, at);
        let ready = when + 15 * SECOND;
        self.put_pod(system, at, when + SECOND, &set, &name);
        let space = &system.namespace;
        self.acts.push((ready, Act::Delete(key(space, "Pod", &old))));
        if service.kind == "Deployment" && old_set != set {
            self.acts.push((ready, Act::Delete(key(space, "ReplicaSet", &old_set))));
        }
        if let Some(pods) = self.pods.get_mut(at) {
            pods.push((ready, name.clone()));
            pods.sort();
        }
        let scaled = format!("Scaled up replica set {set} to 1");
        let workload = (service.kind.as_str(), service.workload.as_str());
        self.tell(
            when,
            space,
            workload,
            "ScalingReplicaSet",
            false,
            scaled,
            "deployment-controller",
        );
        let created = format!("Created pod: {name}");
        self.tell(
            when + SECOND,
            space,
            ("ReplicaSet", &set),
            "SuccessfulCreate",
            false,
            created,
            "replicaset-controller",
        );
        for (after, reason, said) in [
            (2, "Scheduled", format!("Successfully assigned {space}/{name}")),
            (6, "Pulled", "Container image already present on machine".to_owned()),
            (7, "Created", format!("Created container {}", service.name)),
            (8, "Started", format!("Started container {}", service.name)),
        ] {
            self.tell(when + after * SECOND, space, ("Pod", &name), reason, false, said, "kubelet");
        }
        let stopped = format!("Stopping container {}", service.name);
        self.tell(ready, space, ("Pod", &old), "Killing", false, stopped, "kubelet");
    }

    /// A container ends and starts again.
    fn restart(&mut self, system: &System, at: usize, when: Ms, reason: &str, count: u64) {
        let pod = self.pod(at, when).to_owned();
        let space = system.namespace.clone();
        let code = if reason == "OOMKilled" { 137 } else { 1 };
        let ended = json!({"terminated": {"reason": reason, "exitCode": code,
            "finishedAt": self.clock.object(when)}});
        let status = "/status/containerStatuses/0";
        self.set(
            when,
            key(&space, "Pod", &pod),
            &format!("{status}/restartCount"),
            json!(count),
            "kubelet",
        );
        self.set(when, key(&space, "Pod", &pod), &format!("{status}/lastState"), ended, "kubelet");
        let back_off = "Back-off restarting failed container".to_owned();
        self.tell(when + 3 * SECOND, &space, ("Pod", &pod), "BackOff", true, back_off, "kubelet");
    }

    /// What clusters always say.
    fn chatter(&mut self, system: &System, length: Ms) {
        let minutes = length / MINUTE;
        for minute in 0..minutes {
            if self.draw.chance(0.25) {
                let at = minute * MINUTE + self.draw.between(0, 59_000) as Ms;
                let service = self.draw.position(system.services.len());
                let pod = self.pod(service, at).to_owned();
                let said = "Readiness probe failed: context deadline exceeded".to_owned();
                let space = system.namespace.clone();
                let is_other = self.draw.chance(0.5);
                let (space, pod) = if is_other {
                    ("kube-system".to_owned(), "metrics-agent-x2lq8".to_owned())
                } else {
                    (space, pod)
                };
                let (reason, warning) =
                    if is_other { ("Unhealthy", true) } else { ("Pulled", false) };
                self.tell(at, &space, ("Pod", &pod), reason, warning, said, "kubelet");
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "an event has as many fields")]
    fn tell(
        &mut self,
        at: Ms,
        namespace: &str,
        (kind, name): (&str, &str),
        reason: &'static str,
        warning: bool,
        message: String,
        component: &'static str,
    ) {
        let api_version =
            if ["Pod", "Node", "Service", "Namespace"].contains(&kind) { "v1" } else { "apps/v1" };
        self.events.push(Event {
            at,
            regarding: (namespace.to_owned(), kind.to_owned(), name.to_owned()),
            api_version: api_version.to_owned(),
            reason,
            warning,
            message,
            component,
            count: 1,
        });
    }

    /// Does to the cluster what the truth says.
    fn apply(&mut self, root: &Root, system: &System, plan: &Plan, length: Ms) {
        let at = plan.at;
        let space = root.namespace.clone().unwrap_or_else(|| system.namespace.clone());
        match &root.fault {
            Fault::Data(name, from, to) => {
                let metadata = self.metadata(Some(&space), &root.name, -26 * 60 * MINUTE, PIPELINE);
                let map = make::config_map(&root.kind, &metadata, name, from);
                self.perform(-26 * 60 * MINUTE, Act::Put(Box::new(map)));
                let text = if root.kind == "Secret" { make::plain_hex(to) } else { to.clone() };
                let pointer = format!("/data/{}", name.replace('~', "~0").replace('/', "~1"));
                self.set(at, key(&space, &root.kind, &root.name), &pointer, json!(text), PERSON);
            }
            Fault::Policy => {
                let metadata = self.metadata(Some(&space), &root.name, at, PERSON);
                let app = root.first.first().map_or("", |at| system.services[*at].name.as_str());
                let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
                    "metadata": metadata,
                    "spec": {"podSelector": {"matchLabels": {"app": app}}, "policyTypes": ["Ingress"], "ingress": []}});
                self.acts.push((at, Act::Put(Box::new(policy))));
            }
            Fault::Experiment(kind, scheduled) => {
                self.inject(root, kind, *scheduled, system, at, &space);
            }
            Fault::Quota => self.quota(root, system, at, length),
            Fault::Generic => {
                let metadata = self.metadata(
                    root.namespace.as_deref(),
                    &root.name,
                    -26 * 60 * MINUTE,
                    PIPELINE,
                );
                let version = root.api_version.clone().unwrap_or_else(|| "v1".to_owned());
                let app = root.first.first().map_or("", |at| system.services[*at].name.as_str());
                let object = json!({"apiVersion": version, "kind": root.kind, "metadata": metadata,
                    "spec": {"selector": {"matchLabels": {"app": app}}, "mode": "usual"}});
                self.perform(-26 * 60 * MINUTE, Act::Put(Box::new(object)));
                let identity =
                    key(root.namespace.as_deref().unwrap_or_default(), &root.kind, &root.name);
                self.set(at, identity, "/spec/mode", json!("other"), PERSON);
            }
            Fault::Port => {
                let pointer = "/spec/ports/0/targetPort";
                self.set(at, key(&space, "Service", &root.name), pointer, json!(9_999), PERSON);
            }
            _ => {
                let service = root.service.or(root.first.first().copied());
                if let Some(service) = service {
                    self.break_workload(root, service, system, plan, length);
                }
            }
        }
    }

    /// Defines and runs a fault experiment.
    fn inject(
        &mut self,
        root: &Root,
        kind: &str,
        scheduled: bool,
        system: &System,
        at: Ms,
        space: &str,
    ) {
        let version =
            root.api_version.clone().unwrap_or_else(|| "chaos-mesh.org/v1alpha1".to_owned());
        let apps: Vec<&str> =
            root.first.iter().map(|at| system.services[*at].name.as_str()).collect();
        let body = json!({
            "mode": "all", "duration": "30m",
            "selector": {
                "namespaces": [system.namespace],
                "expressionSelectors": [{"key": "app", "operator": "In", "values": apps}],
            },
        });
        let injected = json!({"conditions": [
            {"type": "Selected", "status": "True"}, {"type": "AllInjected", "status": "True"}]});
        let metadata = self.metadata(Some(space), &root.name, at, PERSON);
        let mut ran = root.name.clone();
        if scheduled {
            let mut field = kind.to_owned();
            if let Some(first) = field.get_mut(..1) {
                first.make_ascii_lowercase();
            }
            let schedule = json!({"apiVersion": version, "kind": root.kind, "metadata": metadata,
                "spec": {"schedule": "@every 45m", "type": kind, field: body}});
            self.acts.push((at, Act::Put(Box::new(schedule))));
            ran = format!("{}-{}", root.name, make::suffix(5, &mut self.draw));
            let mut child =
                self.metadata(Some(space), &ran, at + 2 * SECOND, "chaos-controller-manager");
            child["ownerReferences"] =
                json!([{"apiVersion": version, "kind": root.kind, "name": root.name}]);
            let child = json!({"apiVersion": version, "kind": kind, "metadata": child, "spec": body, "status": injected});
            self.acts.push((at + 2 * SECOND, Act::Put(Box::new(child))));
        } else {
            let object = json!({"apiVersion": version, "kind": root.kind, "metadata": metadata, "spec": body, "status": injected});
            self.acts.push((at, Act::Put(Box::new(object))));
        }
        for service in &root.first {
            let pod = self.pod(*service, at).to_owned();
            self.events.push(Event {
                at: at + 5 * SECOND,
                regarding: (space.to_owned(), kind.to_owned(), ran.clone()),
                api_version: version.clone(),
                reason: "Applied",
                warning: false,
                message: format!("Successfully apply chaos for {}/{pod}", system.namespace),
                component: "chaos-controller-manager",
                count: 1,
            });
        }
    }

    /// A quota under which a lost pod is not made again.
    fn quota(&mut self, root: &Root, system: &System, at: Ms, length: Ms) {
        let space =
            if root.kind == "Namespace" { root.name.clone() } else { system.namespace.clone() };
        let name =
            if root.kind == "Namespace" { format!("{space}-memory") } else { root.name.clone() };
        let kind = if root.kind == "LimitRange" { "LimitRange" } else { "ResourceQuota" };
        let metadata = self.metadata(Some(&space), &name, at, PERSON);
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata,
            "spec": {"hard": {"limits.memory": "512Mi"}}});
        self.acts.push((at, Act::Put(Box::new(object))));
        for service in root.first.clone() {
            let pod = self.pod(service, at).to_owned();
            let lost = at + 6 * SECOND;
            self.acts.push((lost, Act::Delete(key(&space, "Pod", &pod))));
            let stopped = format!("Stopping container {}", system.services[service].name);
            self.tell(lost, &space, ("Pod", &pod), "Killing", false, stopped, "kubelet");
            let set = self.replica_sets[service].clone();
            let mut when = lost + 4 * SECOND;
            while when < length {
                let said = format!(
                    "Error creating: pods \"{set}-\" is forbidden: exceeded quota: {name}, requested: limits.memory=300Mi, used: limits.memory=6Gi, limited: limits.memory=512Mi"
                );
                self.tell(
                    when,
                    &space,
                    ("ReplicaSet", &set),
                    "FailedCreate",
                    true,
                    said,
                    "replicaset-controller",
                );
                when += 3 * MINUTE;
            }
            self.unready(system, service, lost + 5 * SECOND);
        }
    }

    fn unready(&mut self, system: &System, service: usize, at: Ms) {
        let service = &system.services[service];
        let workload = key(&system.namespace, &service.kind, &service.workload);
        self.set(at, workload.clone(), "/status/readyReplicas", json!(0), CONTROLLER);
        let condition = json!([{"type": "Available", "status": "False",
            "reason": "MinimumReplicasUnavailable", "lastTransitionTime": self.clock.object(at)}]);
        self.set(at, workload, "/status/conditions", condition, CONTROLLER);
    }

    /// Breaks what a workload runs, or one of its pods.
    fn break_workload(&mut self, root: &Root, at: usize, system: &System, plan: &Plan, length: Ms) {
        let service = system.services[at].clone();
        let space = system.namespace.clone();
        let workload = key(&space, &service.kind, &service.workload);
        let template = "/spec/template/spec";
        let when = plan.at;
        let down = plan.hits.get(&at).is_some_and(|hit| hit.down);
        let change = match root.fault {
            Fault::Image => Some((
                "/containers/0/image",
                json!(format!("registry.example/{}:arm64-0", service.name)),
            )),
            Fault::Environment => Some(("/containers/0/env/1/value", json!("nowhere.invalid:0"))),
            Fault::Limits => Some(("/containers/0/resources/limits/memory", json!("24Mi"))),
            Fault::Command => Some(("/containers/0/command", json!(["/bin/false"]))),
            Fault::Placement => Some(("/nodeSelector", json!({"disk": "none-such"}))),
            Fault::Demand => {
                let env = self.specs[at].pointer("/containers/0/env").and_then(Value::as_array);
                let last = env.map_or(0, |list| list.len().saturating_sub(1));
                let users =
                    env.and_then(|list| list.iter().position(|one| one["name"] == json!("USERS")));
                let pointer = format!("/containers/0/env/{}/value", users.unwrap_or(last));
                put(&mut self.specs[at], &pointer, json!("60"));
                self.set(
                    when,
                    workload.clone(),
                    &format!("{template}{pointer}"),
                    json!("60"),
                    PERSON,
                );
                None
            }
            _ => None,
        };
        if let Some((pointer, value)) = change {
            put(&mut self.specs[at], pointer, value.clone());
            self.set(when, workload.clone(), &format!("{template}{pointer}"), value, PERSON);
        }
        match root.fault {
            Fault::Environment | Fault::Demand => self.replace_pod(system, at, when + SECOND),
            Fault::Limits => {
                self.replace_pod(system, at, when + SECOND);
                let mut turn = 1;
                let mut killed = when + 40 * SECOND;
                while killed < length {
                    self.restart(system, at, killed, "OOMKilled", turn);
                    (turn, killed) = (turn + 1, killed + 4 * MINUTE);
                }
            }
            Fault::Scale => {
                self.set(when, workload.clone(), "/spec/replicas", json!(0), PERSON);
                let pod = self.pod(at, when).to_owned();
                self.acts.push((when + 5 * SECOND, Act::Delete(key(&space, "Pod", &pod))));
                let said = format!("Scaled down replica set {} to 0", self.replica_sets[at]);
                let name = (service.kind.as_str(), service.workload.as_str());
                self.tell(
                    when,
                    &space,
                    name,
                    "ScalingReplicaSet",
                    false,
                    said,
                    "deployment-controller",
                );
                let stopped = format!("Stopping container {}", service.name);
                self.tell(
                    when + 2 * SECOND,
                    &space,
                    ("Pod", &pod),
                    "Killing",
                    false,
                    stopped,
                    "kubelet",
                );
            }
            Fault::PodLost | Fault::Image | Fault::Command | Fault::Placement => {
                self.stuck_pod(root, system, at, when, down, length);
            }
            _ => {}
        }
    }

    /// A pod that does not come up; the old one stays when `down` is not set.
    fn stuck_pod(
        &mut self,
        root: &Root,
        system: &System,
        at: usize,
        when: Ms,
        down: bool,
        length: Ms,
    ) {
        let service = system.services[at].clone();
        let space = system.namespace.clone();
        let lost = root.fault == Fault::PodLost;
        let old = self.pod(at, when).to_owned();
        let (set, name) = if lost {
            let set = self.replica_sets[at].clone();
            let name = format!("{set}-{}", make::suffix(5, &mut self.draw));
            (set, name)
        } else {
            self.pod_names(system, at)
        };
        self.put_pod(system, at, when + 2 * SECOND, &set, &name);
        let pod = key(&space, "Pod", &name);
        let created = when + 2 * SECOND;
        let unplaced = matches!(root.fault, Fault::PodLost | Fault::Placement);
        let (waiting, reason, said, component) = match root.fault {
            Fault::Image => (
                Some("ImagePullBackOff"),
                "Failed",
                "Failed to pull image: no matching manifest for linux/amd64".to_owned(),
                "kubelet",
            ),
            Fault::Command => (
                Some("CrashLoopBackOff"),
                "BackOff",
                "Back-off restarting failed container".to_owned(),
                "kubelet",
            ),
            _ => (
                None,
                "FailedScheduling",
                "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
                    .to_owned(),
                "default-scheduler",
            ),
        };
        self.set(created, pod.clone(), "/status/phase", json!("Pending"), "kubelet");
        let ready = json!([{"type": "Ready", "status": "False", "reason": "ContainersNotReady",
            "lastTransitionTime": self.clock.object(created)}]);
        self.set(created, pod.clone(), "/status/conditions", ready, "kubelet");
        if let Some(waiting) = waiting {
            let state = json!({"waiting": {"reason": waiting}});
            self.set(created, pod.clone(), "/status/containerStatuses/0/state", state, "kubelet");
        }
        if unplaced {
            self.set(created, pod, "/spec/nodeName", json!(""), "default-scheduler");
        }
        let mut tick = created + SECOND;
        while tick < length {
            self.tell(tick, &space, ("Pod", &name), reason, true, said.clone(), component);
            tick += 2 * MINUTE;
        }
        if down {
            self.acts.push((when + 5 * SECOND, Act::Delete(key(&space, "Pod", &old))));
            let stopped = format!("Stopping container {}", service.name);
            self.tell(
                when + 5 * SECOND,
                &space,
                ("Pod", &old),
                "Killing",
                false,
                stopped,
                "kubelet",
            );
            self.unready(system, at, when + 6 * SECOND);
        }
        self.pending.insert(at, name);
    }
}

/// The environment of a service, and the ConfigMaps that it mounts: nothing yet.
fn environment(system: &System, at: usize) -> (Vec<(String, String)>, Vec<String>) {
    let mut environment = vec![("LOG_LEVEL".to_owned(), "info".to_owned())];
    let callees = system.calls.iter().filter(|call| call.from == at).map(|call| call.to);
    for (number, callee) in callees.enumerate() {
        let host = format!("{}:8080", system.services[callee].name);
        environment.push((format!("UPSTREAM_{number}_ADDR"), host));
    }
    if environment.len() == 1 {
        environment.push(("CACHE_ADDR".to_owned(), "127.0.0.1:6379".to_owned()));
    }
    (environment, Vec::new())
}

fn settings_name(system: &System, service: usize) -> String {
    format!("{}-settings", system.services[service].name)
}

fn settings(size: u64) -> String {
    format!("# settings\npool.size = {size}\nretries = 3\nbanner = spring\n")
}

fn key(namespace: &str, kind: &str, name: &str) -> Key {
    (namespace.to_owned(), kind.to_owned(), name.to_owned())
}

/// Sets what a pointer names, making the field where its parent is there.
fn put(object: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = object.pointer_mut(pointer) {
        *place = value;
        return;
    }
    let Some((parent, field)) = pointer.rsplit_once('/') else { return };
    if let Some(Value::Object(fields)) = object.pointer_mut(parent) {
        fields.insert(field.replace("~1", "/").replace("~0", "~"), value);
    }
}
