//! The API of Kubernetes: objects with their owners, events, revisions of workloads and who wrote what.
//! Lists are asked for and nothing else; contents of ConfigMaps and Secrets never.
//!
//! ```text
//! Client ──► Object, reduced and masked, by kind ──► Cluster ──► edges, events, changes
//! ```

mod changes;
#[cfg(feature = "kube")]
mod client;
#[cfg(not(feature = "kube"))]
#[path = "absent.rs"]
mod client;
mod cluster;
mod fields;
mod kinds;
mod object;

use client::Client;
use cluster::Cluster;
use eog_sre::ObjectMasker;
use kinds::Kind;
use object::Object;
use serde::{Deserialize, Serialize};

use crate::capture::Parts;
use crate::config::Kubernetes as Config;
use crate::error::{AskError, ConfigError};
use crate::period::Period;
use crate::piece::{Millis, Who};

/// The API of a cluster as a source.
pub(crate) struct Kubernetes<'a> {
    config: &'a Config,
    client: Client,
}

/// What one list gave.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Part {
    objects: Vec<Object>,
    /// Why it is not all.
    cut: Option<String>,
}

impl<'a> Kubernetes<'a> {
    /// # Errors
    /// [`ConfigError`] when there is no usable kubeconfig or service account.
    pub(crate) async fn open(config: &'a Config) -> Result<Self, ConfigError> {
        Ok(Self { config, client: Client::open(config).await? })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> String {
        self.client.place().to_owned()
    }

    /// What may be listed, for people.
    pub(crate) async fn offer(&self) -> Result<Vec<String>, AskError> {
        let (mut may, mut may_not) = (Vec::new(), Vec::new());
        for (kind, namespace) in self.lists() {
            let (path, name) = (kind.path(namespace), list_name(kind, namespace));
            match self.client.may_list(&path, kind.is_metadata()).await {
                Ok(()) => may.push(name),
                Err(error @ AskError::Away(_)) => return Err(error),
                Err(error) => may_not.push(format!("{name} ({error})")),
            }
        }
        if may.is_empty() {
            let reason = may_not.into_iter().next().unwrap_or_default();
            return Err(AskError::Answer(format!("nothing may be listed: {reason}")));
        }
        let mut lines = Vec::new();
        if let Some(version) = self.client.version().await {
            lines.push(format!("version {version}"));
        }
        lines.push(format!("lists {}", may.join(", ")));
        lines.extend(may_not.into_iter().map(|reason| format!("cannot list {reason}")));
        Ok(lines)
    }

    /// Asks for each list.
    pub(crate) async fn capture(&self, period: Period, parts: &mut Parts<'_>) {
        let mut cluster = Cluster::default();
        let (mut left, mut missing) = (self.config.max_objects, Vec::new());
        for (kind, namespace) in self.lists() {
            let name = list_name(kind, namespace);
            if left == 0 {
                missing.push(format!("{name}: not asked, beyond max_objects"));
                continue;
            }
            let ask = async || self.list(kind, namespace, left).await;
            let question = format!("kubernetes {name}");
            let Some(part) = parts.value(&question, &question, ask).await else { continue };
            left -= part.objects.len().min(left);
            missing.extend(part.cut.map(|cut| format!("{name}: {cut}")));
            cluster.objects.entry(kind).or_default().extend(part.objects);
        }
        let mut piece = cluster.piece(period);
        missing.append(&mut piece.missing);
        piece.missing = missing;
        parts.made("kubernetes", piece);
    }

    async fn list(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        most: usize,
    ) -> Result<Part, AskError> {
        let (mut part, mut masker) = (Part::default(), ObjectMasker::default());
        let (path, only) = (kind.path(namespace), kind.is_metadata());
        let take = |mut value| part.objects.extend(Object::of(kind, &mut value, &mut masker));
        let listed = self.client.list(&path, only, most, take).await?;
        part.cut = listed.cut;
        Ok(part)
    }

    /// What is asked for, kind by kind.
    fn lists(&self) -> Vec<(Kind, Option<&'a str>)> {
        let mut all = Vec::new();
        for kind in Kind::ALL {
            if kind == Kind::Secret && !self.config.secrets {
                continue;
            }
            if kind == Kind::Node && !self.config.nodes {
                continue;
            }
            if self.config.namespaces.is_empty() || !kind.is_namespaced() {
                all.push((kind, None));
            } else {
                all.extend(self.config.namespaces.iter().map(|it| (kind, Some(it.as_str()))));
            }
        }
        all
    }
}

/// Objects of a cluster as they are found in files.
#[derive(Default)]
pub(crate) struct Collected {
    cluster: Cluster,
    masker: ObjectMasker,
    latest: Option<Millis>,
    /// Values of environments of workloads, by which they may name their callees.
    environments: Vec<(Who, String)>,
}

impl Collected {
    /// Adds an object; nothing comes of one whose kind says nothing.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn add(
        &mut self,
        mut value: serde_json::Value,
    ) -> Result<Option<&'static str>, String> {
        let text = |value: &serde_json::Value, at: &str| {
            value.pointer(at).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
        };
        let name = text(&value, "/kind");
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == name) else {
            return Ok(None);
        };
        // The newer interface of events calls the same by other names.
        if let Some(regarding) = value.get("regarding").cloned() {
            value["involvedObject"] = regarding;
            value["message"] = value.get("note").cloned().unwrap_or_default();
            if value.get("lastTimestamp").is_none_or(serde_json::Value::is_null) {
                value["lastTimestamp"] =
                    value.get("deprecatedLastTimestamp").cloned().unwrap_or_default();
            }
        }
        let object = Object::of(kind, &mut value, &mut self.masker);
        let object = object.ok_or_else(|| format!("{name} without metadata.name"))?;
        let times = object.facts.iter().map(|fact| fact.at).chain(object.created);
        let since = object.state.as_ref().and_then(|(_, _, since)| *since);
        self.latest = times.chain(since).chain(self.latest).max();
        let spec = match kind {
            Kind::Pod => "/spec",
            Kind::CronJob => "/spec/jobTemplate/spec/template/spec",
            _ => "/spec/template/spec",
        };
        let me = cluster::whose(kind.name(), &object.namespace, &object.name);
        let containers =
            value.pointer(&format!("{spec}/containers")).and_then(serde_json::Value::as_array);
        for container in containers.into_iter().flatten() {
            for one in
                container.get("env").and_then(serde_json::Value::as_array).into_iter().flatten()
            {
                let value = text(one, "/value");
                if !value.is_empty() && self.environments.len() < MAX_ENVIRONMENTS {
                    self.environments.push((me.clone(), value));
                }
            }
        }
        self.cluster.objects.entry(kind).or_default().push(object);
        Ok(Some(kind.name()))
    }

    /// When the objects were written down, about: the latest time that any of them names.
    pub(crate) fn latest(&self) -> Option<Millis> {
        self.latest
    }

    /// Values of environments, and whose they are.
    pub(crate) fn environments(&self) -> &[(Who, String)] {
        &self.environments
    }

    /// The services of the cluster.
    pub(crate) fn services(&self) -> impl Iterator<Item = (&str, &str)> {
        self.cluster.of(Kind::Service).iter().map(|it| (it.namespace.as_str(), it.name.as_str()))
    }

    /// What is made of all of them.
    pub(crate) fn piece(&self, period: Period) -> crate::piece::Piece {
        self.cluster.piece(period)
    }
}

/// Most values of environments that are read.
const MAX_ENVIRONMENTS: usize = 200_000;

/// What lists say, by their plural names.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn piece(
    mut lists: std::collections::BTreeMap<String, Vec<serde_json::Value>>,
    period: Period,
) -> crate::piece::Piece {
    let mut cluster = Cluster::default();
    for kind in Kind::ALL {
        let mut masker = ObjectMasker::default();
        let items = lists.remove(kind.plural()).unwrap_or_default();
        let objects =
            items.into_iter().filter_map(|mut it| Object::of(kind, &mut it, &mut masker)).collect();
        cluster.objects.insert(kind, objects);
    }
    cluster.piece(period)
}

fn list_name(kind: Kind, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) if kind.is_namespaced() => format!("{} of {namespace}", kind.plural()),
        _ => kind.plural().to_owned(),
    }
}

#[cfg(test)]
mod tests;
