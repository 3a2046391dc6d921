//! The cluster over time: its objects, what is done to them, its events, and which pods run.

mod breaking;
mod usual;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::course::Course;
use super::manifests as make;
use crate::clock::{MINUTE, Ms};
use crate::random::{RandomSeed, Stream};

/// A person or pipeline that applies changes.
const PIPELINE: &str = "helm";
const PERSON: &str = "kubectl-edit";
const CONTROLLER: &str = "kube-controller-manager";
const NODES: [&str; 3] = ["node-a", "node-b", "node-c"];

/// When what is there from the beginning was made.
const LONG_AGO: Ms = -26 * 60 * MINUTE;

/// Identity of an object: namespace, kind, name.
type Key = (String, String, String);

/// A thing done to the cluster at a time.
enum Act {
    Put(Value),
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
    pub(super) regarding: Key,
    pub(super) api_version: String,
    pub(super) reason: &'static str,
    pub(super) warning: bool,
    pub(super) message: String,
    pub(super) component: &'static str,
}

/// The cluster over time.
pub(super) struct Cluster<'a> {
    course: &'a Course,
    now: BTreeMap<Key, Value>,
    acts: Vec<(Ms, Act)>,
    pub(super) events: Vec<Event>,
    /// By service: its pods by the time from which each serves.
    pods: Vec<Vec<(Ms, String)>>,
    /// By service: the pod that waits, if one does.
    pub(super) pending: BTreeMap<usize, String>,
    replica_sets: Vec<String>,
    specs: Vec<Value>,
    draw: Stream,
}

impl<'a> Cluster<'a> {
    /// The cluster in which a course is taken.
    pub(super) fn new(course: &'a Course, seed: RandomSeed) -> Self {
        let mut cluster = Self {
            course,
            now: BTreeMap::new(),
            acts: Vec::new(),
            events: Vec::new(),
            pods: Vec::new(),
            pending: BTreeMap::new(),
            replica_sets: Vec::new(),
            specs: Vec::new(),
            draw: seed.stream("cluster"),
        };
        cluster.begin();
        let fault = course.plan.at;
        cluster.go_on(Ms::MIN..fault);
        for root in &course.plan.roots {
            cluster.apply(root);
        }
        cluster.go_on(fault..Ms::MAX);
        cluster.chatter();
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
                self.now.insert(key, object);
            }
            Act::Delete(key) => {
                self.now.remove(&key);
            }
            Act::Set { key, pointer, value, manager } => {
                let Some(object) = self.now.get_mut(&key) else { return };
                put(object, &pointer, value);
                if !pointer.starts_with("/status") {
                    let generation = object["metadata"]["generation"].as_u64().unwrap_or(1) + 1;
                    object["metadata"]["generation"] = json!(generation);
                }
                let version = object["metadata"]["resourceVersion"].as_str().unwrap_or("1");
                let version = version.parse::<u64>().unwrap_or(1) + 7;
                object["metadata"]["resourceVersion"] = json!(version.to_string());
                let mut written = make::writer(self.course.clock, manager, at);
                // As Kubernetes does it, so that the status is not taken for a change of the object.
                if pointer.starts_with("/status") {
                    written["subresource"] = json!("status");
                    written["fieldsV1"] = json!({"f:status": {}});
                }
                if let Some(fields) = object["metadata"]["managedFields"].as_array_mut() {
                    let entry =
                        |field: &Value| (field["manager"].clone(), field["subresource"].clone());
                    fields.retain(|field| entry(field) != entry(&written));
                    fields.push(written);
                }
            }
        }
    }

    fn put(&mut self, at: Ms, object: Value) {
        self.acts.push((at, Act::Put(object)));
    }

    fn delete(&mut self, at: Ms, key: Key) {
        self.acts.push((at, Act::Delete(key)));
    }

    fn set(&mut self, at: Ms, key: Key, pointer: &str, value: Value, manager: &'static str) {
        self.acts.push((at, Act::Set { key, pointer: pointer.to_owned(), value, manager }));
    }

    fn metadata(&mut self, namespace: Option<&str>, name: &str, created: Ms, by: &str) -> Value {
        make::metadata(self.course.clock, namespace, name, created, by, &mut self.draw)
    }

    /// The workload behind a service.
    fn workload(&self, service: usize) -> Key {
        let service = &self.course.system.services[service];
        self.own(&service.kind, &service.workload)
    }

    /// An object of the application's namespace.
    fn own(&self, kind: &str, name: &str) -> Key {
        key(&self.course.system.namespace, kind, name)
    }

    /// Says that something usual happened.
    fn report(&mut self, at: Ms, of: Key, reason: &'static str, said: String, by: &'static str) {
        let is_core = ["Pod", "Node", "Service", "Namespace"].contains(&of.1.as_str());
        let api_version = if is_core { "v1" } else { "apps/v1" }.to_owned();
        let (regarding, message, component) = (of, said, by);
        self.events.push(Event {
            at,
            regarding,
            api_version,
            reason,
            warning: false,
            message,
            component,
        });
    }

    /// Says that something is wrong.
    fn warn(&mut self, at: Ms, of: Key, reason: &'static str, said: String, by: &'static str) {
        self.report(at, of, reason, said, by);
        if let Some(event) = self.events.last_mut() {
            event.warning = true;
        }
    }

    /// Says that the container of a service is stopped.
    fn report_stopped(&mut self, at: Ms, pod: Key, service: usize) {
        let said = format!("Stopping container {}", self.course.system.services[service].name);
        self.report(at, pod, "Killing", said, "kubelet");
    }
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
