//! An object of a cluster, reduced to what is used of it, bounded and without secrets.

use std::collections::{BTreeMap, BTreeSet};

use eog_evidence::{ObjectState, mask_named, shorten};
use eog_sre::ObjectMasker;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{Written, written};
use super::kinds::Kind;
use crate::piece::Millis;

/// Longest text that is kept, in characters.
const MAX_TEXT: usize = 2_000;

/// Most names of one kind that are kept of an object.
const MAX_NAMES: usize = 200;

/// Longest template of pods that is kept, in bytes as JSON.
const MAX_TEMPLATE: usize = 256 << 10;

/// Annotation of a ReplicaSet with its place among the revisions of a Deployment.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// An object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) created: Option<Millis>,
    pub(super) labels: BTreeMap<String, String>,
    /// Kind and name of the object that controls it.
    pub(super) owner: Option<(String, String)>,
    pub(super) written: Vec<Written>,
    /// Which pods it selects, by their labels; nothing selects nothing.
    pub(super) selects: Option<BTreeMap<String, String>>,
    /// Kind and name of what it refers to: ConfigMaps that it mounts, the target of an autoscaler, services of
    /// an ingress.
    pub(super) names: BTreeSet<(String, String)>,
    /// The machine of a pod.
    pub(super) node: String,
    /// The pods that it makes, as JSON without secrets.
    pub(super) template: Option<Value>,
    pub(super) revision: u64,
    pub(super) facts: Vec<Fact>,
    /// Its state, why, and since when if it says so.
    pub(super) state: Option<(ObjectState, String, Option<Millis>)>,
}

/// Something that an object says happened: an event, a container that ended, a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fact {
    pub(super) at: Millis,
    /// When it happened first.
    pub(super) first: Millis,
    /// Kind, namespace and name of the object it is about; the object itself if there is none.
    pub(super) about: Option<(String, String, String)>,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) is_warning: bool,
    pub(super) count: u64,
}

impl Object {
    /// An object as the API gives it; nothing for one without a name.
    pub(super) fn of(kind: Kind, value: &mut Value, masker: &mut ObjectMasker) -> Option<Self> {
        let name = text(value, "/metadata/name")?.to_owned();
        let namespace = text(value, "/metadata/namespace").unwrap_or_default().to_owned();
        let owner = controller(value);
        // Revisions of one owner are compared: equal secrets get equal numbers.
        let place = match &owner {
            Some((kind, owner)) => format!("{namespace}/{kind}/{owner}"),
            None => format!("{namespace}/{}/{name}", kind.name()),
        };
        masker.mask(&place, kind.name(), value);
        let mut object = Self {
            created: time(value.pointer("/metadata/creationTimestamp")),
            labels: strings(value.pointer("/metadata/labels")),
            written: written(value),
            state: state(kind, value),
            name,
            namespace,
            owner,
            ..Self::default()
        };
        object.fill(kind, value);
        Some(object)
    }

    fn fill(&mut self, kind: Kind, value: &Value) {
        match kind {
            Kind::Pod => {
                self.node = text(value, "/spec/nodeName").unwrap_or_default().to_owned();
                self.names = mounted(value.pointer("/spec"));
                self.facts = of_pod(value);
            }
            Kind::Node => self.facts = of_node(value),
            Kind::Event => self.facts.extend(event(value)),
            Kind::Service => self.selects = selector(value.pointer("/spec/selector")),
            Kind::NetworkPolicy => {
                let selector = value.pointer("/spec/podSelector/matchLabels");
                self.selects = Some(strings(selector));
            }
            Kind::Deployment | Kind::StatefulSet | Kind::DaemonSet => {
                self.selects = selector(value.pointer("/spec/selector/matchLabels"));
                self.names = mounted(value.pointer("/spec/template/spec"));
            }
            Kind::ReplicaSet => {
                self.template = template(value.pointer("/spec/template"));
                let revision =
                    value.pointer("/metadata/annotations").and_then(|it| it.get(REVISION));
                let revision = revision.and_then(Value::as_str).and_then(|text| text.parse().ok());
                self.revision = revision.unwrap_or(0);
            }
            Kind::ControllerRevision => {
                self.template = template(value.pointer("/data/spec/template"));
                self.revision = value.get("revision").and_then(Value::as_u64).unwrap_or(0);
            }
            Kind::CronJob => {
                self.names = mounted(value.pointer("/spec/jobTemplate/spec/template/spec"));
            }
            Kind::Autoscaler => {
                let target = ["kind", "name"].map(|field| {
                    text(value, &format!("/spec/scaleTargetRef/{field}")).map(str::to_owned)
                });
                if let [Some(kind), Some(name)] = target {
                    self.names.insert((kind, name));
                }
            }
            Kind::Ingress => routed(value, &mut self.names),
            Kind::Job | Kind::ConfigMap | Kind::Secret | Kind::Claim | Kind::Quota => {}
        }
    }
}

fn state(kind: Kind, value: &Value) -> Option<(ObjectState, String, Option<Millis>)> {
    let (state, reason, since) = eog_sre::object_state(kind.name(), value)?;
    Some((state, reason, since.map(Timestamp::as_millisecond)))
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
}

/// A time of the API.
pub(super) fn time(value: Option<&Value>) -> Option<Millis> {
    value?.as_str()?.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

/// Texts by name, bounded.
fn strings(value: Option<&Value>) -> BTreeMap<String, String> {
    let map = value.and_then(Value::as_object).into_iter().flatten().take(MAX_NAMES);
    map.filter_map(|(name, value)| {
        Some((shorten(name, 300), shorten(&mask_named(name, value.as_str()?), 300)))
    })
    .collect()
}

fn selector(value: Option<&Value>) -> Option<BTreeMap<String, String>> {
    Some(strings(value)).filter(|labels| !labels.is_empty())
}

/// The owner that controls an object.
fn controller(value: &Value) -> Option<(String, String)> {
    let owners = value.pointer("/metadata/ownerReferences")?.as_array()?;
    let is_controller = |it: &&Value| it.get("controller") == Some(&Value::Bool(true));
    let owner = owners.iter().find(is_controller).or(owners.first())?;
    Some((text(owner, "/kind")?.to_owned(), text(owner, "/name")?.to_owned()))
}

/// The ConfigMaps, Secrets and volume claims that pods of a specification use.
fn mounted(spec: Option<&Value>) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let mut add = |kind: &str, name: Option<&str>| {
        if let Some(name) = name
            && found.len() < MAX_NAMES
        {
            found.insert((kind.to_owned(), shorten(name, 300)));
        }
    };
    let list = |of: Option<&Value>, field: &str| -> Vec<Value> {
        of.and_then(|it| it.get(field)?.as_array().cloned()).unwrap_or_default()
    };
    for volume in list(spec, "volumes") {
        let sources = std::iter::once(volume.clone())
            .chain(list(volume.get("projected"), "sources"))
            .collect::<Vec<_>>();
        for source in &sources {
            add("ConfigMap", text(source, "/configMap/name"));
            add("Secret", text(source, "/secret/secretName"));
            add("Secret", text(source, "/secret/name"));
            add("PersistentVolumeClaim", text(source, "/persistentVolumeClaim/claimName"));
        }
    }
    for container in list(spec, "containers").iter().chain(&list(spec, "initContainers")) {
        for one in list(Some(container), "envFrom") {
            add("ConfigMap", text(&one, "/configMapRef/name"));
            add("Secret", text(&one, "/secretRef/name"));
        }
        for one in list(Some(container), "env") {
            add("ConfigMap", text(&one, "/valueFrom/configMapKeyRef/name"));
            add("Secret", text(&one, "/valueFrom/secretKeyRef/name"));
        }
    }
    found
}

/// The services that an ingress leads to.
fn routed(value: &Value, names: &mut BTreeSet<(String, String)>) {
    let mut add = |backend: Option<&Value>| {
        if let Some(name) = backend.and_then(|it| text(it, "/service/name"))
            && names.len() < MAX_NAMES
        {
            names.insert(("Service".to_owned(), name.to_owned()));
        }
    };
    add(value.pointer("/spec/defaultBackend"));
    let rules = value.pointer("/spec/rules").and_then(Value::as_array).into_iter().flatten();
    for rule in rules {
        let paths = rule.pointer("/http/paths").and_then(Value::as_array).into_iter().flatten();
        paths.for_each(|path| add(path.get("backend")));
    }
}

/// What of a template can be a change.
fn template(value: Option<&Value>) -> Option<Value> {
    let mut kept = value?.clone();
    // What distinguishes the pods of revisions is no difference of its own.
    if let Some(labels) = kept.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        for name in ["pod-template-hash", "controller-revision-hash"] {
            labels.remove(name);
        }
    }
    (kept.to_string().len() <= MAX_TEMPLATE).then_some(kept)
}

/// Containers of a pod that ended, and what keeps it from being ready.
fn of_pod(value: &Value) -> Vec<Fact> {
    let mut facts = Vec::new();
    let statuses = value.pointer("/status/containerStatuses").and_then(Value::as_array);
    for status in statuses.into_iter().flatten().take(MAX_NAMES) {
        let name = text(status, "/name").unwrap_or_default();
        for state in ["lastState", "state"] {
            let Some(ended) = status.get(state).and_then(|it| it.get("terminated")) else {
                continue;
            };
            let code = ended.get("exitCode").and_then(Value::as_i64).unwrap_or(0);
            let Some(at) = time(ended.get("finishedAt")).filter(|_| code != 0) else { continue };
            let reason = text(ended, "/reason").unwrap_or("Error");
            // `Error` alone is no reason of Kubernetes' events.
            let reason = if reason == "Error" { "ContainerFailed" } else { reason };
            let said = text(ended, "/message").map(|text| format!(": {text}")).unwrap_or_default();
            let restarts = status.get("restartCount").and_then(Value::as_u64).unwrap_or(0);
            facts.push(Fact {
                at,
                first: at,
                about: None,
                reason: shorten(reason, 100),
                message: shorten(
                    &format!("container {name} ended with code {code}, {restarts} restarts{said}"),
                    MAX_TEXT,
                ),
                is_warning: true,
                count: 1,
            });
        }
    }
    facts
}

/// What a machine says is wrong with it.
fn of_node(value: &Value) -> Vec<Fact> {
    let conditions = value.pointer("/status/conditions").and_then(Value::as_array);
    let wrong = |it: &&Value| match text(it, "/type") {
        Some("Ready") => text(it, "/status") != Some("True"),
        Some(kind) => {
            text(it, "/status") == Some("True")
                && (kind.ends_with("Pressure") || kind == "NetworkUnavailable")
        }
        None => false,
    };
    let fact = |it: &Value| {
        let at = time(it.get("lastTransitionTime"))?;
        let reason = match text(it, "/type")? {
            "Ready" => "NodeNotReady",
            "MemoryPressure" => "NodeHasInsufficientMemory",
            "DiskPressure" => "NodeHasDiskPressure",
            "PIDPressure" => "NodeHasInsufficientPID",
            _ => "NetworkNotReady",
        };
        Some(Fact {
            at,
            first: at,
            about: None,
            reason: reason.to_owned(),
            message: shorten(text(it, "/message").unwrap_or_default(), MAX_TEXT),
            is_warning: true,
            count: 1,
        })
    };
    conditions.into_iter().flatten().filter(wrong).filter_map(fact).take(MAX_NAMES).collect()
}

/// An event: it happened once, or so often between two times.
fn event(value: &Value) -> Option<Fact> {
    let at = |pointer: &str| time(value.pointer(pointer));
    let last = at("/series/lastObservedTime").or_else(|| at("/lastTimestamp"));
    let made = at("/eventTime").or_else(|| at("/metadata/creationTimestamp"));
    let last = last.or(made)?;
    let first = at("/firstTimestamp").or(made).unwrap_or(last).min(last);
    let of = |field: &str| text(value, &format!("/involvedObject/{field}")).map(str::to_owned);
    let count = value.pointer("/series/count").or_else(|| value.get("count"));
    Some(Fact {
        at: last,
        first,
        about: Some((of("kind")?, of("namespace").unwrap_or_default(), of("name")?)),
        reason: shorten(text(value, "/reason")?, 100),
        message: shorten(text(value, "/message").unwrap_or_default(), MAX_TEXT),
        is_warning: text(value, "/type") == Some("Warning"),
        count: count.and_then(Value::as_u64).unwrap_or(1).max(1),
    })
}
