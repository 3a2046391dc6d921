//! What is there before the fault, and what happens without it.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Act, CONTROLLER, Cluster, LONG_AGO, NODES, PIPELINE, put};
use crate::clock::{LENGTH, MINUTE, Ms, SECOND};
use crate::snapshot::fault::{Fault, Root};
use crate::snapshot::manifests as make;
use crate::snapshot::system::{Role, System};

impl Cluster<'_> {
    /// The objects from before the recording.
    pub(super) fn begin(&mut self) {
        let course = self.course;
        let (system, plan, noise) = (&course.system, &course.plan, &course.noise);
        let space = &system.namespace;
        for name in NODES {
            let metadata = self.metadata(None, name, LONG_AGO, "kubelet");
            let ready = json!([{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "False"}]);
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata,
                "status": {"conditions": ready}});
            self.perform(LONG_AGO, Act::Put(node));
        }
        let metadata = self.metadata(None, space, LONG_AGO, PIPELINE);
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata,
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
        self.perform(LONG_AGO, Act::Put(object));

        for (at, service) in system.services.iter().enumerate() {
            let mut environment = environment(system, at);
            let mut configs: Vec<String> = Vec::new();
            if service.role == Role::Sending {
                environment.push(("USERS".to_owned(), "10".to_owned()));
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
            self.start_service(at, &environment, &configs, lost);
        }
        let edited: BTreeSet<usize> = noise.edits.iter().map(|(service, _)| *service).collect();
        for service in edited {
            let name = settings_name(system, service);
            let metadata = self.metadata(Some(space), &name, LONG_AGO, PIPELINE);
            let size = self.draw.between(10, 90);
            let map =
                make::config_map("ConfigMap", &metadata, "settings.properties", &settings(size));
            self.perform(LONG_AGO, Act::Put(map));
        }
    }

    /// What happens anyway in a part of the recording: rollouts, edits, restarts.
    pub(super) fn go_on(&mut self, part: std::ops::Range<Ms>) {
        let course = self.course;
        for (service, at, field) in &course.noise.rollouts {
            if part.contains(at) {
                self.harmless_rollout(*service, *at, *field);
            }
        }
        for (service, at) in &course.noise.edits {
            if part.contains(at) {
                let map = self.own("ConfigMap", &settings_name(&course.system, *service));
                let value = json!(settings(self.draw.between(10, 90)));
                self.set(*at, map, "/data/settings.properties", value, PIPELINE);
            }
        }
        for (service, at) in &course.noise.restarts {
            if part.contains(at) {
                self.restart(*service, *at, "Error", 1);
            }
        }
    }

    fn start_service(
        &mut self,
        at: usize,
        environment: &[(String, String)],
        configs: &[String],
        unplaceable: bool,
    ) {
        let course = self.course;
        let service = &course.system.services[at];
        let space = Some(course.system.namespace.as_str());
        let tag = self.draw.between(10, 99);
        let mut spec = make::pod_spec(&service.name, tag, environment, configs);
        if unplaceable {
            put(&mut spec, "/nodeSelector", json!({"disk": "none-such"}));
        }
        let metadata = self.metadata(space, &service.workload, LONG_AGO, PIPELINE);
        let object = make::workload(&service.kind, &metadata, &service.name, &spec, course.clock);
        self.perform(LONG_AGO, Act::Put(object));
        let metadata = self.metadata(space, &service.name, LONG_AGO, PIPELINE);
        self.perform(LONG_AGO, Act::Put(make::service(&metadata, &service.name)));
        self.replica_sets.push(String::new());
        self.specs.push(spec);
        let (set, name) = self.pod_names(at);
        let name = service.first_pod.clone().unwrap_or(name);
        self.put_pod(at, LONG_AGO, &set, &name);
        self.pods.push(vec![(LONG_AGO, name)]);
    }

    /// Names for a new ReplicaSet and its pod.
    pub(super) fn pod_names(&mut self, at: usize) -> (String, String) {
        let service = &self.course.system.services[at];
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
    pub(super) fn put_pod(&mut self, at: usize, when: Ms, set: &str, name: &str) {
        let course = self.course;
        let service = &course.system.services[at];
        let space = Some(course.system.namespace.as_str());
        let spec = self.specs[at].clone();
        let owner = match service.kind.as_str() {
            "Deployment" => "ReplicaSet",
            kind => kind,
        };
        if owner == "ReplicaSet" && self.replica_sets[at] != set {
            let metadata = self.metadata(space, set, when, CONTROLLER);
            let object = make::replica_set(metadata, &service.workload, &service.name, &spec);
            self.put(when, object);
            self.replica_sets[at] = set.to_owned();
        }
        let node = NODES[self.draw.position(NODES.len())];
        let metadata = self.metadata(space, name, when, CONTROLLER);
        self.put(when, make::pod(metadata, (owner, set), &service.name, node, &spec));
    }

    /// A new version that does the same.
    fn harmless_rollout(&mut self, at: usize, when: Ms, field: u64) {
        let container = "/containers/0";
        let (pointer, value) = match field {
            0 => {
                let tag = self.draw.between(10, 99);
                let name = &self.course.system.services[at].name;
                let image = format!("registry.example/{name}:3.{}.{}", tag / 10, tag % 10);
                (format!("{container}/image"), json!(image))
            }
            1 => {
                let memory = format!("{}Mi", self.draw.between(121, 199));
                (format!("{container}/resources/requests/memory"), json!(memory))
            }
            _ => {
                let level = ["debug", "warn", "error"][self.draw.position(3)];
                (format!("{container}/env/0/value"), json!(level))
            }
        };
        put(&mut self.specs[at], &pointer, value.clone());
        let pointer = format!("/spec/template/spec{pointer}");
        self.set(when, self.workload(at), &pointer, value, PIPELINE);
        self.replace_pod(at, when);
    }

    /// The pod of a service is replaced by a new one that works.
    pub(super) fn replace_pod(&mut self, at: usize, when: Ms) {
        let course = self.course;
        let service = &course.system.services[at];
        let space = &course.system.namespace;
        let old = self.own("Pod", self.pod(at, when));
        let old_set = self.replica_sets[at].clone();
        let (set, name) = self.pod_names(at);
        let ready = when + 15 * SECOND;
        self.put_pod(at, when + SECOND, &set, &name);
        self.delete(ready, old.clone());
        if service.kind == "Deployment" && old_set != set {
            self.delete(ready, self.own("ReplicaSet", &old_set));
        }
        if let Some(pods) = self.pods.get_mut(at) {
            pods.push((ready, name.clone()));
            pods.sort();
        }
        let scaled = format!("Scaled up replica set {set} to 1");
        self.report(when, self.workload(at), "ScalingReplicaSet", scaled, "deployment-controller");
        let created = format!("Created pod: {name}");
        let set = self.own("ReplicaSet", &set);
        self.report(when + SECOND, set, "SuccessfulCreate", created, "replicaset-controller");
        for (after, reason, said) in [
            (2, "Scheduled", format!("Successfully assigned {space}/{name}")),
            (6, "Pulled", "Container image already present on machine".to_owned()),
            (7, "Created", format!("Created container {}", service.name)),
            (8, "Started", format!("Started container {}", service.name)),
        ] {
            self.report(when + after * SECOND, self.own("Pod", &name), reason, said, "kubelet");
        }
        self.report_stopped(ready, old, at);
    }

    /// A container ends and starts again.
    pub(super) fn restart(&mut self, at: usize, when: Ms, reason: &str, count: u64) {
        let pod = self.own("Pod", self.pod(at, when));
        let code = if reason == "OOMKilled" { 137 } else { 1 };
        let ended = json!({"terminated": {"reason": reason, "exitCode": code,
            "finishedAt": self.course.clock.object(when)}});
        let status = "/status/containerStatuses/0";
        let restarts = format!("{status}/restartCount");
        self.set(when, pod.clone(), &restarts, json!(count), "kubelet");
        self.set(when, pod.clone(), &format!("{status}/lastState"), ended, "kubelet");
        let back_off = "Back-off restarting failed container".to_owned();
        self.warn(when + 3 * SECOND, pod, "BackOff", back_off, "kubelet");
    }

    /// What clusters always say.
    pub(super) fn chatter(&mut self) {
        for minute in 0..LENGTH / MINUTE {
            if self.draw.chance(0.25) {
                let at = minute * MINUTE + self.draw.between(0, 59_000) as Ms;
                let service = self.draw.position(self.course.system.services.len());
                let said = "Readiness probe failed: context deadline exceeded".to_owned();
                if self.draw.chance(0.5) {
                    let agent = super::key("kube-system", "Pod", "metrics-agent-x2lq8");
                    self.warn(at, agent, "Unhealthy", said, "kubelet");
                } else {
                    let pod = self.own("Pod", self.pod(service, at));
                    self.report(at, pod, "Pulled", said, "kubelet");
                }
            }
        }
    }
}

/// The environment of a service.
fn environment(system: &System, at: usize) -> Vec<(String, String)> {
    let mut environment = vec![("LOG_LEVEL".to_owned(), "info".to_owned())];
    let callees = system.calls.iter().filter(|call| call.from == at).map(|call| call.to);
    for (number, callee) in callees.enumerate() {
        let host = format!("{}:8080", system.services[callee].name);
        environment.push((format!("UPSTREAM_{number}_ADDR"), host));
    }
    if environment.len() == 1 {
        environment.push(("CACHE_ADDR".to_owned(), "127.0.0.1:6379".to_owned()));
    }
    environment
}

fn settings_name(system: &System, service: usize) -> String {
    format!("{}-settings", system.services[service].name)
}

fn settings(size: u64) -> String {
    format!("# settings\npool.size = {size}\nretries = 3\nbanner = spring\n")
}
