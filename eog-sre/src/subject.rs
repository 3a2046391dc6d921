//! What an alert is about, by its labels: the one resolver of snapshots, live sources, the service on call and imports.
//!
//! Labels of an alert name the subject, and often what exposes the metric as well: kube-state-metrics says `pod`, and its
//! own name is in `job` and `service`. A label counts only if what it names is known, or if it is more specific than
//! what exposes the metric.

use std::collections::BTreeMap;

/// Labels that name a service where a configuration names no others, best first.
pub const SERVICE_LABELS: [&str; 6] =
    ["service_name", "exported_service", "exported_job", "service", "app", "job"];

/// What a label may name, and the labels that do so. What is more specific comes first.
const OBJECTS: [(&str, &[&str]); 15] = [
    (
        "Deployment",
        &["deployment", "exported_deployment", "k8s_deployment_name", "kube_deployment"],
    ),
    ("StatefulSet", &["statefulset", "k8s_statefulset_name", "kube_stateful_set"]),
    ("DaemonSet", &["daemonset", "k8s_daemonset_name", "kube_daemon_set"]),
    ("Job", &["job_name", "k8s_job_name", "kube_job"]),
    ("CronJob", &["cronjob", "k8s_cronjob_name", "kube_cronjob"]),
    ("HorizontalPodAutoscaler", &["horizontalpodautoscaler", "hpa"]),
    ("PodDisruptionBudget", &["poddisruptionbudget"]),
    ("ResourceQuota", &["resourcequota"]),
    ("PersistentVolumeClaim", &["persistentvolumeclaim", "exported_persistentvolumeclaim"]),
    ("PersistentVolume", &["persistentvolume"]),
    ("Pod", &["exported_pod", "k8s_pod_name", "pod_name", "pod"]),
    ("Ingress", &["exported_ingress", "ingress"]),
    ("Service", &["k8s_service_name", "kube_service"]),
    ("Node", &["exported_node", "k8s_node_name", "kube_node", "nodename", "node"]),
    ("Deployment", &["workload", "exported_workload"]),
];

/// Labels of a mesh that name who was called, with those that name the namespace. They come before all others: the pod and
/// the service beside them are those of the proxy.
const CALLED: [(&str, &str, &str); 5] = [
    ("Deployment", "destination_workload", "destination_workload_namespace"),
    ("Service", "destination_service_name", "destination_service_namespace"),
    ("Service", "destination_service", "destination_service_namespace"),
    ("Service", "destination_canonical_service", "destination_workload_namespace"),
    ("Service", "destination_app", "destination_workload_namespace"),
];

/// Labels that name a namespace, best first.
const NAMESPACES: [&str; 6] = [
    "exported_namespace",
    "k8s_namespace_name",
    "kube_namespace",
    "service_namespace",
    "namespace",
    "kubernetes_namespace",
];

/// Labels that name something by a plain name, best first. They count where nothing of the above does.
const NAMES: [&str; 32] = [
    "app_kubernetes_io_name",
    "kubernetes_name",
    "application",
    "component",
    "entity",
    "container_label_com_docker_compose_service",
    "compose_service",
    "container",
    "container_name",
    "kube_container_name",
    "consumergroup",
    "consumer_group",
    "queue",
    "topic",
    "server",
    "datname",
    "database",
    "dbinstanceidentifier",
    "functionname",
    "loadbalancer",
    "upstream",
    "backend",
    "target",
    "url",
    "vhost",
    "host",
    "hostname",
    "host_name",
    "machine",
    "instanceid",
    "name",
    "source",
];

/// Those of them that name a machine.
const HOSTS: [&str; 5] = ["host", "hostname", "host_name", "machine", "instanceid"];

/// Parts of names of exporters, agents and collectors, which report others.
const EXPORTERS: [&str; 16] = [
    "alloy",
    "blackbox",
    "cadvisor",
    "envoy-stats",
    "exporter",
    "fluent-bit",
    "grafana-agent",
    "kube-state-metrics",
    "kubelet",
    "opentelemetry-collector",
    "otel-collector",
    "prometheus-agent",
    "pushgateway",
    "statsd",
    "telegraf",
    "vmagent",
];

/// Those that report objects of a cluster, whose `pod` and `namespace` are never their own.
const OF_CLUSTER: [&str; 3] = ["kube-state-metrics", "kubelet", "cadvisor"];

/// Usual ports of exporters of machines: of Linux and of Windows.
const HOST_PORTS: [&str; 2] = ["9100", "9182"];

/// Shortest name that is searched for in a text, in characters.
const MIN_NAMED: usize = 3;

/// How surely a label names the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// An object that is more specific than what exposes the metric.
    Specific,
    /// A service that exposes its own metrics.
    Service,
    /// A name of anything, which counts if it is known.
    Named,
    /// What an exporter reports, by its own name.
    Exported,
    /// The namespace that it is about.
    Namespace,
    /// What exposes the metric of others: only where nothing else is named.
    Exporter,
}

/// What an alert may be about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The kind of object as Kubernetes has it: `Pod`, `Service`, `Node` (any machine); empty where the label says
    /// nothing of the kind.
    pub kind: &'static str,
    /// Its namespace; empty where none is named.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The label that names it.
    pub label: String,
    weight: Weight,
    /// Whether it is a guess that counts only if it is known.
    is_guess: bool,
}

/// What came of the labels of an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution<T> {
    /// It is about something that is known.
    Known {
        /// What.
        entity: T,
        /// What named it, for people: a label, or where else it was found.
        by: String,
    },
    /// It names something that is not known.
    Unknown(Subject),
    /// Nothing in it names anything.
    Nothing,
}

/// What an alert may be about by its labels, the best first.
pub fn subjects<S: AsRef<str>>(labels: &BTreeMap<String, String>, services: &[S]) -> Vec<Subject> {
    let labels = Labels::of(labels);
    let mut all = Vec::new();
    labels.called(&mut all);
    labels.objects(services, &mut all);
    labels.services(services, &mut all);
    labels.addresses(&mut all);
    for name in NAMES {
        let is_host = HOSTS.contains(&name);
        for value in labels.get(name).map(plain_name).into_iter().filter(|name| !is_exporter(name))
        {
            let kind = if is_host { "Node" } else { "" };
            all.extend(hosts(value, name, Weight::Named));
            all.push(Subject::new(kind, labels.namespace(), value, name, Weight::Named));
        }
    }
    if let Some(namespace) = Some(labels.namespace()).filter(|name| !name.is_empty()) {
        let weight = match labels.exposes_itself_in_namespace(services) {
            true => Weight::Exporter,
            false => Weight::Namespace,
        };
        all.push(Subject::new("Namespace", "", namespace, "namespace", weight));
    }
    // What is as sure stays in its order.
    all.sort_by_key(|subject| subject.weight);
    all
}

/// What an alert is about: the first of its subjects that is known, else what its texts and the query of its generator
/// name that is known, else the first that is no guess. `names` are the plain names of all that is known.
pub fn resolve<T: Clone + Ord, S: AsRef<str>>(
    labels: &BTreeMap<String, String>,
    texts: &[&str],
    services: &[S],
    known: &dyn Fn(&Subject) -> Option<T>,
    names: &BTreeMap<String, T>,
) -> Resolution<T> {
    let all = subjects(labels, services);
    let sure = |subject: &&Subject| subject.weight <= Weight::Exported;
    if let Some(found) = first_known(all.iter().filter(sure), known) {
        return found;
    }
    // An object that is named and not known, such as a pod that is gone, is not what its texts also mention.
    let is_named = all.iter().any(|it| it.weight <= Weight::Service && !it.is_guess);
    if !is_named {
        let of_query: Vec<Subject> =
            texts.iter().flat_map(|text| subjects(&matchers(text), services)).collect();
        let by = |found| match found {
            Resolution::Known { entity, by } => {
                Resolution::Known { entity, by: format!("the query of its generator ({by})") }
            }
            other => other,
        };
        let found = first_known(of_query.iter().filter(sure), known).map(by);
        let found = found.or_else(|| by_value(labels, names)).or_else(|| by_text(texts, names));
        if let Some(found) = found {
            return found;
        }
    }
    let exporter = all.iter().find(|it| it.weight == Weight::Exporter && it.kind != "Namespace");
    let is_sure = all.iter().any(|it| sure(&it) && !it.is_guess);
    let last = exporter.into_iter().filter(|_| !is_named && !is_sure);
    let last = last.chain(all.iter().filter(|it| it.weight == Weight::Namespace && !is_named));
    if let Some(found) = first_known(last, known) {
        return found;
    }
    match all.into_iter().find(|subject| !subject.is_guess) {
        Some(subject) => Resolution::Unknown(subject),
        None => Resolution::Nothing,
    }
}

fn first_known<'a, T>(
    mut subjects: impl Iterator<Item = &'a Subject>,
    known: &dyn Fn(&Subject) -> Option<T>,
) -> Option<Resolution<T>> {
    subjects.find_map(|subject| {
        let entity = known(subject)?;
        Some(Resolution::Known { entity, by: format!("label {}", subject.label) })
    })
}

/// The one known name that a label has as its value, whatever the label is called.
fn by_value<T: Clone + Ord>(
    labels: &BTreeMap<String, String>,
    names: &BTreeMap<String, T>,
) -> Option<Resolution<T>> {
    let is_of_alert = |name: &str| matches!(name, "alertname" | "severity" | "priority");
    let mut found: Vec<(&String, &T)> = labels
        .iter()
        .filter(|(name, value)| !is_of_alert(name) && !is_exporter(value))
        .filter_map(|(name, value)| Some((name, names.get(value)?)))
        .collect();
    found.dedup_by(|a, b| a.1 == b.1);
    match found.as_slice() {
        [(label, entity)] => Some(Resolution::Known {
            entity: (*entity).clone(),
            by: format!("the value of label {label}"),
        }),
        _ => None,
    }
}

/// The one known name that the texts mention as a word of its own, the longest where names hold each other.
fn by_text<T: Clone + Ord>(texts: &[&str], names: &BTreeMap<String, T>) -> Option<Resolution<T>> {
    let mut found: Vec<(&str, &T)> = Vec::new();
    for (name, entity) in names.iter().filter(|(name, _)| name.chars().count() >= MIN_NAMED) {
        if texts.iter().any(|text| mentions(text, name)) {
            found.push((name, entity));
        }
    }
    let longest: Vec<_> = found
        .iter()
        .filter(|(name, _)| !found.iter().any(|(other, _)| other != name && other.contains(name)))
        .collect();
    match longest.as_slice() {
        [(name, entity)] => Some(Resolution::Known {
            entity: (*entity).clone(),
            by: format!("its text, which names {name}"),
        }),
        _ => None,
    }
}

/// Whether a text holds a name that neither begins nor ends within a longer word.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|it| it.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The label matchers of a query in a text, such as the PromQL in the link to where an alert comes from:
/// `service="cart"`, also as written in an address.
fn matchers(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if !text.contains('=') {
        return found;
    }
    let text = decoded(text);
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("=\"") {
        let name: Vec<char> = before
            .chars()
            .rev()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
            .collect();
        let name: String = name.into_iter().rev().collect();
        let Some((value, tail)) = after.split_once('"') else { break };
        if !name.is_empty() && !value.is_empty() {
            found.insert(name, value.to_owned());
        }
        rest = tail;
    }
    found
}

/// A text without the escapes of addresses.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let code = digits.filter(|_| *first == b'%').and_then(|it| u8::from_str_radix(it, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether something of this name reports others rather than itself.
fn is_exporter(name: &str) -> bool {
    let name = name.to_lowercase().replace('_', "-");
    EXPORTERS.iter().any(|part| name.contains(part)) || matches!(name.as_str(), "node" | "windows")
}

/// A name out of an address or of a host: `db.shop:5432` and `https://db.shop/x` name `db.shop`.
fn plain_name(value: &str) -> &str {
    let value = value.split_once("://").map_or(value, |(_, rest)| rest);
    let value = value.split(['/', '?']).find(|part| !part.is_empty()).unwrap_or(value);
    let value = value.rsplit_once('@').map_or(value, |(_, host)| host);
    match value.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit()) => {
            host.trim_start_matches('[').trim_end_matches(']')
        }
        _ => value,
    }
}

impl Subject {
    fn new(kind: &'static str, namespace: &str, name: &str, label: &str, weight: Weight) -> Self {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Self { kind, namespace, name, label: label.to_owned(), weight, is_guess: false }
    }

    fn guess(self) -> Self {
        Self { is_guess: true, ..self }
    }
}

/// Labels by names in one form: OpenTelemetry writes `k8s.pod.name`, Prometheus `k8s_pod_name`.
struct Labels<'a>(BTreeMap<String, &'a str>);

impl<'a> Labels<'a> {
    fn of(labels: &'a BTreeMap<String, String>) -> Self {
        let plain = |name: &str| name.to_lowercase().replace(['.', '-', '/'], "_");
        let labels = labels.iter().filter(|(_, value)| !value.trim().is_empty());
        Self(labels.map(|(name, value)| (plain(name), value.trim())).collect())
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).copied()
    }

    fn first(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| self.get(name))
    }

    fn namespace(&self) -> &'a str {
        self.first(&NAMESPACES).unwrap_or_default()
    }

    /// What exposes the metric, by the labels of its scrape.
    fn exposer<S: AsRef<str>>(&self, services: &[S]) -> Option<&'a str> {
        let named = services.iter().filter_map(|name| self.get(name.as_ref()));
        self.first(&["job", "service"]).into_iter().chain(named).find(|name| is_exporter(name))
    }

    /// Whether `pod` and `namespace` are those of an exporter, which reports something else.
    fn is_of_exporter<S: AsRef<str>>(&self, services: &[S]) -> bool {
        let Some(exposer) = self.exposer(services) else { return false };
        let of_cluster = |name: &str| OF_CLUSTER.iter().any(|it| name.contains(it));
        let is_own = |name: &str| is_exporter(name) || name.starts_with(exposer);
        !of_cluster(exposer) && self.first(&["pod", "container"]).is_some_and(is_own)
            || self.get("exported_namespace").is_some()
    }

    /// Whether the namespace is that of what exposes the metric.
    fn exposes_itself_in_namespace<S: AsRef<str>>(&self, services: &[S]) -> bool {
        self.get("exported_namespace").is_none() && self.is_of_exporter(services)
    }

    fn called(&self, all: &mut Vec<Subject>) {
        for (kind, label, of) in CALLED {
            let value = self.get(label).filter(|value| *value != "unknown");
            // A host of a cluster: `cart.shop.svc.cluster.local`.
            let Some(value) = value else { continue };
            let mut parts = plain_name(value).split('.');
            let name = parts.next().unwrap_or(value);
            let space = parts.next().or_else(|| self.get(of)).unwrap_or(self.namespace());
            all.push(Subject::new(kind, space, name, label, Weight::Specific));
        }
    }

    fn objects<S: AsRef<str>>(&self, services: &[S], all: &mut Vec<Subject>) {
        let of_exporter = self.is_of_exporter(services);
        for (kind, labels) in OBJECTS {
            for label in labels {
                let Some(name) = self.get(label) else { continue };
                if kind == "Node" {
                    all.push(Subject::new(kind, "", plain_name(name), label, Weight::Specific));
                    continue;
                }
                let is_plain = matches!(*label, "pod" | "service");
                let weight = match kind {
                    "Pod" if is_plain && of_exporter => Weight::Exporter,
                    // A pod that reports itself says which instance of the service it is.
                    "Pod" if is_plain && self.is_instance(name, services) => Weight::Named,
                    _ => Weight::Specific,
                };
                let namespace = self.namespace();
                all.push(Subject::new(kind, namespace, name, label, weight));
                if kind == "Pod" && weight != Weight::Exporter {
                    for owner in owners(name) {
                        let owner = Subject::new("Deployment", namespace, owner, label, weight);
                        all.push(owner.guess());
                    }
                }
            }
        }
    }

    /// Whether a pod is an instance of the service that exposes the metric itself.
    fn is_instance<S: AsRef<str>>(&self, pod: &str, services: &[S]) -> bool {
        let own = services.iter().filter_map(|label| self.get(label.as_ref()));
        own.map(|name| name.rsplit_once('/').map_or(name, |(_, name)| name)).any(|name| {
            !is_exporter(name) && pod.strip_prefix(name).is_some_and(|it| it.starts_with('-'))
        })
    }

    fn services<S: AsRef<str>>(&self, services: &[S], all: &mut Vec<Subject>) {
        for label in services.iter().map(AsRef::as_ref) {
            let Some(value) = self.get(label) else { continue };
            // OpenTelemetry writes `service.namespace/service.name` into `job`.
            let (of_name, name) = value.rsplit_once('/').unwrap_or(("", value));
            let own = Some(self.namespace()).filter(|name| !name.is_empty()).unwrap_or(of_name);
            if name.is_empty() {
                continue;
            }
            if !is_exporter(name) {
                // What Prometheus renamed is what the exporter says; the target's own labels follow.
                all.push(Subject::new("Service", own, name, label, Weight::Service));
                continue;
            }
            all.push(Subject::new("Service", own, name, label, Weight::Exporter));
            // What is exported: a kafka-exporter reports kafka.
            let stem = name.replace('_', "-");
            let stem = stem.split("-exporter").next().unwrap_or_default();
            let stem = stem.rsplit("prometheus-").next().unwrap_or_default();
            if stem != name && !stem.is_empty() && !matches!(stem, "node" | "windows" | "blackbox")
            {
                for space in [own, ""] {
                    all.push(Subject::new("", space, stem, label, Weight::Exported).guess());
                }
            }
        }
    }

    /// Instances: an address that is probed, a machine, or a target.
    fn addresses(&self, all: &mut Vec<Subject>) {
        let Some(instance) = self.get("instance") else { return };
        let name = plain_name(instance);
        let job = self.get("job").unwrap_or_default().to_lowercase().replace('_', "-");
        let port = instance.rsplit(':').next().unwrap_or_default();
        let is_machine = HOST_PORTS.contains(&port)
            || ["node-exporter", "windows-exporter"].iter().any(|it| job.contains(it));
        if instance.contains("://") || job.contains("blackbox") {
            all.extend(hosts(name, "instance", Weight::Specific));
            all.push(Subject::new("", "", name, "instance", Weight::Specific));
        } else if is_machine {
            all.push(Subject::new("Node", "", name, "instance", Weight::Specific));
        } else {
            let target = Subject::new("", "", name, "instance", Weight::Exported);
            // The target of an exporter is the exporter, mostly.
            let is_own = self.first(&["job", "service"]).is_some_and(is_exporter);
            all.push(if is_own { target.guess() } else { target });
        }
    }
}

/// What a host may be of a cluster: `cart.shop.svc` is `cart` in `shop`. Addresses of numbers are none.
fn hosts(host: &str, label: &str, weight: Weight) -> Vec<Subject> {
    let mut parts = host.split('.');
    let (Some(first), Some(space)) = (parts.next(), parts.next()) else { return Vec::new() };
    if first.is_empty() || host.bytes().all(|c| c.is_ascii_digit() || c == b'.') {
        return Vec::new();
    }
    let of = |space: &str| Subject::new("", space, first, label, weight).guess();
    vec![of(space), of("")]
}

/// What a pod may be of, by its name: `pay-5d8f7-bbbbb` of `pay-5d8f7` or `pay`.
fn owners(pod: &str) -> impl Iterator<Item = &str> {
    let first = pod.rsplit_once('-').map(|(owner, _)| owner);
    let second = first.and_then(|owner| owner.rsplit_once('-')).map(|(owner, _)| owner);
    [second, first].into_iter().flatten()
}

#[cfg(test)]
mod tests;
