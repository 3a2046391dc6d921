//! What each alert is about, decided once all sources have said what there is.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::EntityId;
use eog_evidence::{ManifestTopology, near_names};
use eog_sre::subject::{Resolution, Subject, resolve};

use crate::bundle::id;
use crate::piece::{Alert, Piece, Place, Who};

/// Everything that is known, by what it is and by its plain name.
pub(crate) struct Known {
    all: BTreeSet<Who>,
    by_name: BTreeMap<String, Who>,
}

/// Says of each alert what it is about. `labels` are those that name a service, best first.
pub(crate) fn alerts(all: &mut Piece, labels: &[String], topology: &ManifestTopology) {
    let known = Known::of(all, topology);
    for alert in &mut all.alerts {
        alert.place = place(alert, labels, &known);
    }
}

pub(crate) fn place(alert: &Alert, labels: &[String], known: &Known) -> Place {
    // Where a source knows the machine of an exporter, it is that machine.
    if let Some(who) = &alert.who {
        return Place::Known(who.clone());
    }
    let said: Vec<&str> =
        alert.said.iter().chain([&alert.description]).map(String::as_str).collect();
    let find = |subject: &Subject| known.find(subject);
    match resolve(&alert.labels, &said, labels, &find, &known.by_name) {
        Resolution::Known { entity, .. } => Place::Known(entity),
        Resolution::Unknown(subject) => Place::Unknown(who_of(&subject), subject.label),
        Resolution::Nothing => Place::Nothing,
    }
}

/// What a label names, whether it is known or not.
pub(crate) fn who_of(subject: &Subject) -> Who {
    let (namespace, name) = (subject.namespace.clone(), subject.name.clone());
    match subject.kind {
        "Node" => Who::Host(name),
        "Pod" if !namespace.is_empty() => Who::Pod { namespace, name },
        "" | "Service" | "Deployment" | "StatefulSet" | "DaemonSet" | "Pod" => {
            Who::Service { namespace, name }
        }
        kind => Who::Object { kind: kind.to_owned(), namespace, name },
    }
}

/// An entity of a configured topology.
fn declared(entity: &EntityId) -> Who {
    let parts: Vec<&str> = entity.as_str().split('/').collect();
    match parts.as_slice() {
        ["Host", name] => Who::Host((*name).to_owned()),
        [namespace, "Pod", name] => {
            Who::Pod { namespace: (*namespace).to_owned(), name: (*name).to_owned() }
        }
        [namespace, kind, name] => Who::Object {
            kind: (*kind).to_owned(),
            namespace: (*namespace).to_owned(),
            name: (*name).to_owned(),
        },
        [namespace, name] => {
            Who::Service { namespace: (*namespace).to_owned(), name: (*name).to_owned() }
        }
        _ => Who::service(entity.as_str()),
    }
}

impl Known {
    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Names of what is known that are like the name of what an alert is about, for people.
    pub(crate) fn nearest(&self, who: &Who) -> Vec<String> {
        let names: Vec<EntityId> = self.all.iter().filter_map(id).collect();
        let Some(wanted) = id(who) else { return Vec::new() };
        let near = near_names(names.iter().map(EntityId::as_str), wanted.as_str());
        near.into_iter().map(str::to_owned).collect()
    }

    pub(crate) fn of(all: &Piece, topology: &ManifestTopology) -> Self {
        let mut known: BTreeSet<Who> = topology.entities.iter().map(declared).collect();
        let ends = topology.edges.iter().flat_map(|edge| [&edge.source, &edge.target]);
        known.extend(ends.map(declared));
        let mut add = |who: &Who| {
            if !known.contains(who) {
                known.insert(who.clone());
            }
        };
        for series in &all.series {
            add(&series.who);
            series.peer.iter().for_each(|(who, _)| add(who));
        }
        all.changes.iter().for_each(|it| add(&it.who));
        all.events.iter().for_each(|it| add(&it.who));
        all.states.iter().for_each(|it| add(&it.who));
        all.links.iter().for_each(|it| {
            add(&it.source);
            add(&it.target);
        });
        all.spans.iter().for_each(|it| add(&it.who));
        all.lines.iter().for_each(|it| add(&it.who));
        let mut names: BTreeMap<&str, BTreeSet<&Who>> = BTreeMap::new();
        for who in &known {
            if let Who::Service { name, .. } | Who::Host(name) = who {
                names.entry(name).or_default().insert(who);
            }
        }
        let only = |(name, whos): (&str, BTreeSet<&Who>)| match (whos.len(), whos.first()) {
            (1, Some(who)) => Some((name.to_owned(), (*who).clone())),
            _ => None,
        };
        let by_name = names.into_iter().filter_map(only).collect();
        Self { all: known, by_name }
    }

    fn find(&self, subject: &Subject) -> Option<Who> {
        let name = subject.name.as_str();
        let named = |who: Who| self.all.contains(&who).then_some(who);
        let service = || {
            let space = subject.namespace.as_str();
            let exact = named(Who::Service { namespace: space.to_owned(), name: name.to_owned() });
            // Telemetry may not know the namespace.
            let bare = || named(Who::service(name));
            let only = || match self.by_name.get(name) {
                Some(who @ Who::Service { namespace, .. })
                    if space.is_empty() || namespace.is_empty() =>
                {
                    Some(who.clone())
                }
                _ => None,
            };
            exact.or_else(bare).or_else(only)
        };
        match subject.kind {
            "Node" => named(Who::Host(name.to_owned())),
            "Service" | "Deployment" | "StatefulSet" | "DaemonSet" => service(),
            "" => service()
                .or_else(|| named(Who::Host(name.to_owned())))
                .or_else(|| self.by_name.get(name).cloned()),
            "Pod" => {
                let namespace = subject.namespace.clone();
                let exact = named(Who::Pod { namespace, name: name.to_owned() });
                exact.or_else(|| {
                    let same =
                        |who: &&Who| matches!(who, Who::Pod { name: known, .. } if known == name);
                    let mut found = self.all.iter().filter(same);
                    match (subject.namespace.is_empty(), found.next(), found.next()) {
                        (true, Some(who), None) => Some(who.clone()),
                        _ => None,
                    }
                })
            }
            kind => named(Who::Object {
                kind: kind.to_owned(),
                namespace: subject.namespace.clone(),
                name: name.to_owned(),
            }),
        }
    }
}
