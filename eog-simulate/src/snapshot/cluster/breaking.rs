//! The fault, done to the root cause.

use serde_json::{Value, json};

use super::{Act, CONTROLLER, Cluster, Event, LONG_AGO, PERSON, PIPELINE, key, put};
use crate::clock::{LENGTH, MINUTE, Ms, SECOND};
use crate::snapshot::fault::{Fault, Root};
use crate::snapshot::manifests as make;

impl Cluster<'_> {
    /// Does to the cluster what the truth says.
    pub(super) fn apply(&mut self, root: &Root) {
        let (system, at) = (&self.course.system, self.course.plan.at);
        let space = root.namespace.as_ref().unwrap_or(&system.namespace);
        let app = root.first.first().map_or("", |at| system.services[*at].name.as_str());
        match &root.fault {
            Fault::Data(name, from, to) => {
                let metadata = self.metadata(Some(space), &root.name, LONG_AGO, PIPELINE);
                let map = make::config_map(&root.kind, &metadata, name, from);
                self.perform(LONG_AGO, Act::Put(map));
                let text = if root.kind == "Secret" { make::plain_hex(to) } else { to.clone() };
                let pointer = format!("/data/{}", name.replace('~', "~0").replace('/', "~1"));
                self.set(at, key(space, &root.kind, &root.name), &pointer, json!(text), PERSON);
            }
            Fault::Policy => {
                let metadata = self.metadata(Some(space), &root.name, at, PERSON);
                let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
                    "metadata": metadata,
                    "spec": {"podSelector": {"matchLabels": {"app": app}}, "policyTypes": ["Ingress"], "ingress": []}});
                self.put(at, policy);
            }
            Fault::Experiment(kind, scheduled) => self.inject(root, kind, *scheduled, space),
            Fault::Quota => self.quota(root),
            Fault::Generic => {
                let space = root.namespace.as_deref();
                let metadata = self.metadata(space, &root.name, LONG_AGO, PIPELINE);
                let version = root.api_version.as_deref().unwrap_or("v1");
                let object = json!({"apiVersion": version, "kind": root.kind, "metadata": metadata,
                    "spec": {"selector": {"matchLabels": {"app": app}}, "mode": "usual"}});
                self.perform(LONG_AGO, Act::Put(object));
                let identity = key(space.unwrap_or_default(), &root.kind, &root.name);
                self.set(at, identity, "/spec/mode", json!("other"), PERSON);
            }
            Fault::Port => {
                let service = key(space, "Service", &root.name);
                self.set(at, service, "/spec/ports/0/targetPort", json!(9_999), PERSON);
            }
            _ => {
                if let Some(service) = root.service.or(root.first.first().copied()) {
                    self.break_workload(root, service);
                }
            }
        }
    }

    /// Defines and runs a fault experiment.
    fn inject(&mut self, root: &Root, kind: &str, scheduled: bool, space: &str) {
        let (system, at) = (&self.course.system, self.course.plan.at);
        let version = root.api_version.as_deref().unwrap_or("chaos-mesh.org/v1alpha1");
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
            self.put(at, schedule);
            ran = format!("{}-{}", root.name, make::suffix(5, &mut self.draw));
            let begins = at + 2 * SECOND;
            let mut child = self.metadata(Some(space), &ran, begins, "chaos-controller-manager");
            child["ownerReferences"] =
                json!([{"apiVersion": version, "kind": root.kind, "name": root.name}]);
            let child = json!({"apiVersion": version, "kind": kind, "metadata": child, "spec": body, "status": injected});
            self.put(begins, child);
        } else {
            let object = json!({"apiVersion": version, "kind": root.kind, "metadata": metadata, "spec": body, "status": injected});
            self.put(at, object);
        }
        for service in &root.first {
            let pod = self.pod(*service, at);
            self.events.push(Event {
                at: at + 5 * SECOND,
                regarding: key(space, kind, &ran),
                api_version: version.to_owned(),
                reason: "Applied",
                warning: false,
                message: format!("Successfully apply chaos for {}/{pod}", system.namespace),
                component: "chaos-controller-manager",
            });
        }
    }

    /// A quota under which a lost pod is not made again.
    fn quota(&mut self, root: &Root) {
        let (system, at) = (&self.course.system, self.course.plan.at);
        let (space, name) = match root.kind.as_str() {
            "Namespace" => (&root.name, format!("{}-memory", root.name)),
            _ => (&system.namespace, root.name.clone()),
        };
        let kind = if root.kind == "LimitRange" { "LimitRange" } else { "ResourceQuota" };
        let metadata = self.metadata(Some(space), &name, at, PERSON);
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata,
            "spec": {"hard": {"limits.memory": "512Mi"}}});
        self.put(at, object);
        for &service in &root.first {
            let pod = key(space, "Pod", self.pod(service, at));
            let lost = at + 6 * SECOND;
            self.delete(lost, pod.clone());
            self.report_stopped(lost, pod, service);
            let set = self.replica_sets[service].clone();
            let said = format!(
                "Error creating: pods \"{set}-\" is forbidden: exceeded quota: {name}, requested: limits.memory=300Mi, used: limits.memory=6Gi, limited: limits.memory=512Mi"
            );
            let mut when = lost + 4 * SECOND;
            while when < LENGTH {
                let set = key(space, "ReplicaSet", &set);
                self.warn(when, set, "FailedCreate", said.clone(), "replicaset-controller");
                when += 3 * MINUTE;
            }
            self.unready(service, lost + 5 * SECOND);
        }
    }

    fn unready(&mut self, service: usize, at: Ms) {
        let workload = self.workload(service);
        self.set(at, workload.clone(), "/status/readyReplicas", json!(0), CONTROLLER);
        let since = self.course.clock.object(at);
        let condition = json!([{"type": "Available", "status": "False",
            "reason": "MinimumReplicasUnavailable", "lastTransitionTime": since}]);
        self.set(at, workload, "/status/conditions", condition, CONTROLLER);
    }

    /// Breaks what a workload runs, or one of its pods.
    fn break_workload(&mut self, root: &Root, at: usize) {
        let when = self.course.plan.at;
        let name = &self.course.system.services[at].name;
        let change = match root.fault {
            Fault::Image => {
                Some(("/containers/0/image", json!(format!("registry.example/{name}:arm64-0"))))
            }
            Fault::Environment => Some(("/containers/0/env/1/value", json!("nowhere.invalid:0"))),
            Fault::Limits => Some(("/containers/0/resources/limits/memory", json!("24Mi"))),
            Fault::Command => Some(("/containers/0/command", json!(["/bin/false"]))),
            Fault::Placement => Some(("/nodeSelector", json!({"disk": "none-such"}))),
            _ => None,
        };
        if let Some((pointer, value)) = change {
            self.change_pods(at, pointer, &value);
        }
        match root.fault {
            Fault::Environment => self.replace_pod(at, when + SECOND),
            Fault::Demand => {
                let env = self.specs[at].pointer("/containers/0/env").and_then(Value::as_array);
                let last = env.map_or(0, |list| list.len().saturating_sub(1));
                let users =
                    env.and_then(|list| list.iter().position(|one| one["name"] == json!("USERS")));
                let pointer = format!("/containers/0/env/{}/value", users.unwrap_or(last));
                self.change_pods(at, &pointer, &json!("60"));
                self.replace_pod(at, when + SECOND);
            }
            Fault::Limits => {
                self.replace_pod(at, when + SECOND);
                let mut turn = 1;
                let mut killed = when + 40 * SECOND;
                while killed < LENGTH {
                    self.restart(at, killed, "OOMKilled", turn);
                    (turn, killed) = (turn + 1, killed + 4 * MINUTE);
                }
            }
            Fault::Scale => {
                let (workload, pod) = (self.workload(at), self.own("Pod", self.pod(at, when)));
                self.set(when, workload.clone(), "/spec/replicas", json!(0), PERSON);
                self.delete(when + 5 * SECOND, pod.clone());
                let said = format!("Scaled down replica set {} to 0", self.replica_sets[at]);
                self.report(when, workload, "ScalingReplicaSet", said, "deployment-controller");
                self.report_stopped(when + 2 * SECOND, pod, at);
            }
            Fault::PodLost | Fault::Image | Fault::Command | Fault::Placement => {
                self.stuck_pod(root, at);
            }
            _ => {}
        }
    }

    /// Changes what the pods of a workload are made from, by hand.
    fn change_pods(&mut self, at: usize, pointer: &str, value: &Value) {
        put(&mut self.specs[at], pointer, value.clone());
        let pointer = format!("/spec/template/spec{pointer}");
        let when = self.course.plan.at;
        self.set(when, self.workload(at), &pointer, value.clone(), PERSON);
    }

    /// A pod that does not come up; the old one stays unless the service is down.
    fn stuck_pod(&mut self, root: &Root, at: usize) {
        let when = self.course.plan.at;
        let old = self.own("Pod", self.pod(at, when));
        let (set, name) = if root.fault == Fault::PodLost {
            let set = self.replica_sets[at].clone();
            let name = format!("{set}-{}", make::suffix(5, &mut self.draw));
            (set, name)
        } else {
            self.pod_names(at)
        };
        let created = when + 2 * SECOND;
        self.put_pod(at, created, &set, &name);
        let pod = self.own("Pod", &name);
        let (waiting, reason, said, component) = match root.fault {
            Fault::Image => (
                Some("ImagePullBackOff"),
                "Failed",
                "Failed to pull image: no matching manifest for linux/amd64",
                "kubelet",
            ),
            Fault::Command => (
                Some("CrashLoopBackOff"),
                "BackOff",
                "Back-off restarting failed container",
                "kubelet",
            ),
            _ => (
                None,
                "FailedScheduling",
                "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
                "default-scheduler",
            ),
        };
        self.set(created, pod.clone(), "/status/phase", json!("Pending"), "kubelet");
        let ready = json!([{"type": "Ready", "status": "False", "reason": "ContainersNotReady",
            "lastTransitionTime": self.course.clock.object(created)}]);
        self.set(created, pod.clone(), "/status/conditions", ready, "kubelet");
        if let Some(waiting) = waiting {
            let state = json!({"waiting": {"reason": waiting}});
            self.set(created, pod.clone(), "/status/containerStatuses/0/state", state, "kubelet");
        } else {
            self.set(created, pod.clone(), "/spec/nodeName", json!(""), "default-scheduler");
        }
        let mut tick = created + SECOND;
        while tick < LENGTH {
            self.warn(tick, pod.clone(), reason, said.to_owned(), component);
            tick += 2 * MINUTE;
        }
        if self.course.plan.hits.get(&at).is_some_and(|hit| hit.down) {
            self.delete(when + 5 * SECOND, old.clone());
            self.report_stopped(when + 5 * SECOND, old, at);
            self.unready(at, when + 6 * SECOND);
        }
        self.pending.insert(at, name);
    }
}
