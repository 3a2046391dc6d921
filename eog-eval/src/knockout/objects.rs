//! What a cause did to the objects of a cluster, found in their dumps.
//!
//! A cause either was made for the fault, or changed during the recording. With it goes what it
//! made: objects that it owns (`ownerReferences`), directly or over others, the successor of a pod
//! that was lost, and the policies of a namespace that is the cause.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::itbench::POLICIES;

/// Namespace, kind and name.
pub(super) type Identity = (String, String, String);

/// API groups of fault experiments: their objects are made for a fault and for nothing else.
const EXPERIMENTS: [&str; 2] = ["chaos-mesh.org", "litmuschaos.io"];

/// One object over all dumps.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Row number, time and body of each dump that holds it.
    pub(super) dumps: Vec<(usize, String, Value)>,
}

impl History {
    fn first(&self) -> Option<&Value> {
        self.dumps.first().map(|(_, _, body)| body)
    }

    /// When it was made, as dumps have it.
    fn created(&self) -> Option<&str> {
        self.first()?.pointer("/metadata/creationTimestamp")?.as_str()
    }

    /// Kind and name of each owner.
    fn owners(&self) -> impl Iterator<Item = (&str, &str)> {
        let owners = self.first().and_then(|body| body.pointer("/metadata/ownerReferences"));
        let owners = owners.and_then(Value::as_array).into_iter().flatten();
        owners.filter_map(|owner| Some((owner["kind"].as_str()?, owner["name"].as_str()?)))
    }

    fn is_experiment(&self) -> bool {
        let version = self.first().and_then(|body| body.get("apiVersion")).and_then(Value::as_str);
        let group = version.and_then(|version| version.split_once('/')).map(|(group, _)| group);
        group.is_some_and(|group| EXPERIMENTS.contains(&group))
    }

    /// The last dump before its first change, as far as it changes.
    fn unchanged_until(&self) -> Option<&str> {
        let pairs = self.dumps.windows(2);
        let mut changed = pairs.filter(|pair| meaning(&pair[0].2) != meaning(&pair[1].2));
        changed.next().map(|pair| pair[0].1.as_str())
    }
}

/// An object without what changes by itself.
fn meaning(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    body
}

/// The parts of an object's identity; empty where it does not say.
pub(super) fn identity(body: &Value) -> Identity {
    let text = |pointer: &str| {
        body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    (text("/metadata/namespace"), text("/kind"), text("/metadata/name"))
}

/// What a knock-out does to objects.
#[derive(Debug, Default)]
pub(super) struct Undone {
    /// Objects that were made for or by the fault: they go, and all that is said of them.
    pub(super) dropped: BTreeSet<Identity>,
    /// Objects that stay as they were at first, also where they vanished, with the time from which
    /// on what is said of them goes.
    pub(super) restored: BTreeMap<Identity, String>,
}

impl Undone {
    /// What must be undone so that the causes are not on record. `began` is the time of the first
    /// dump, in the form of `creationTimestamp`.
    pub(super) fn of(
        histories: &BTreeMap<Identity, History>,
        is_cause: impl Fn(&Identity) -> bool,
        began: &str,
    ) -> Self {
        let mut undone = Self::default();
        // All that follows from a cause is not older than its first act.
        let last_dump = last_dump(histories);
        for (identity, history) in histories.iter().filter(|(identity, _)| is_cause(identity)) {
            if history.is_experiment() || history.created().is_some_and(|at| at > began) {
                undone.dropped.insert(identity.clone());
                continue;
            }
            let vanished = history.dumps.last().map(|(_, at, _)| at.as_str());
            let vanished = vanished.filter(|at| Some(*at) < last_dump);
            let since = history.unchanged_until().into_iter().chain(vanished).min();
            if let Some(since) = since {
                undone.restored.insert(identity.clone(), since.to_owned());
            }
        }
        undone.add_policies(histories, &is_cause, began);
        undone.add_successors(histories);
        undone.add_owned(histories);
        undone
    }

    /// Policies that were set for a namespace which is the cause.
    fn add_policies(
        &mut self,
        histories: &BTreeMap<Identity, History>,
        is_cause: &impl Fn(&Identity) -> bool,
        began: &str,
    ) {
        let causes: BTreeSet<&String> = histories
            .keys()
            .filter(|identity| identity.1 == "Namespace" && is_cause(identity))
            .map(|(_, _, name)| name)
            .collect();
        let made = histories.iter().filter(|((namespace, kind, _), history)| {
            POLICIES.contains(&kind.as_str())
                && causes.contains(namespace)
                && history.created().is_some_and(|at| at > began)
        });
        self.dropped.extend(made.map(|(identity, _)| identity.clone()));
    }

    /// Pods made in place of one that was lost: those of the same owner that came after.
    fn add_successors(&mut self, histories: &BTreeMap<Identity, History>) {
        let mut made = Vec::new();
        for (lost, since) in self.restored.iter().filter(|((_, kind, _), _)| kind == "Pod") {
            let Some(history) = histories.get(lost) else { continue };
            let owners: BTreeSet<(&str, &str)> = history.owners().collect();
            made.extend(histories.iter().filter_map(|(other, history)| {
                let is_sibling = other.0 == lost.0
                    && other.1 == "Pod"
                    && history.owners().any(|owner| owners.contains(&owner));
                let is_later = history.created().is_some_and(|at| is_after(at, since));
                (is_sibling && is_later).then(|| other.clone())
            }));
        }
        self.dropped.extend(made);
    }

    /// What causes own, directly or over others: what came after goes, what was there stays.
    fn add_owned(&mut self, histories: &BTreeMap<Identity, History>) {
        loop {
            let mut found = false;
            for (identity, history) in histories {
                if self.dropped.contains(identity) || self.restored.contains_key(identity) {
                    continue;
                }
                let owner =
                    |kind: &str, name: &str| (identity.0.clone(), kind.to_owned(), name.to_owned());
                let owners: Vec<Identity> = history.owners().map(|(k, n)| owner(k, n)).collect();
                if owners.iter().any(|owner| self.dropped.contains(owner)) {
                    self.dropped.insert(identity.clone());
                    found = true;
                } else if let Some(since) =
                    owners.iter().find_map(|o| self.restored.get(o)).cloned()
                {
                    if history.created().is_some_and(|at| is_after(at, &since)) {
                        self.dropped.insert(identity.clone());
                    } else {
                        self.restored.insert(identity.clone(), since);
                    }
                    found = true;
                }
            }
            if !found {
                return;
            }
        }
    }
}

/// Whether a `creationTimestamp` (`2026-01-01T10:00:00Z`) lies after the time of a row
/// (`2026-01-01 10:00:00.5`).
fn is_after(created: &str, row: &str) -> bool {
    comparable(created) > comparable(row)
}

/// Both forms to the second.
pub(super) fn comparable(time: &str) -> String {
    time.chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

/// The time of the last dump of anything.
fn last_dump(histories: &BTreeMap<Identity, History>) -> Option<&str> {
    // The rows of one dump follow each other within seconds: what is in the last dump has its last
    // row not before the earliest last row of the objects that are in all dumps.
    let most = histories.values().map(|history| history.dumps.len()).max()?;
    let always = histories.values().filter(|history| history.dumps.len() == most);
    always.filter_map(|history| history.dumps.last()).map(|(_, at, _)| at.as_str()).min()
}
