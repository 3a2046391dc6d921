//! Changes: what differs between successive dumps of one object, and what came or went.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::{ChangeDetail, EvidenceTime, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, EvidenceId, EvidenceKind, Finding, Timestamp, Window};
use eog_evidence::shorten;
use jiff::SignedDuration;
use serde_json::Value;

use super::diff::{Leaf, changed_leaves};
use super::{Draft, selector};
use crate::graph::is_experiment;
use crate::json::{list, moment, text};
use crate::names;
use crate::read::{CONSEQUENCES, ObjectHistory, Objects, Observation};

/// Most changed leaves of one object between two dumps that become findings of their own.
const MAX_LEAVES: usize = 12;

/// Longest definition of an experiment, in characters: with its action, its target, and its duration.
const MAX_DEFINITION: usize = 320;

/// Ends of the paths of an owned object that only people change.
const DELIBERATE: [&str; 5] = ["/image", "/resources", "/env", "/command", "/args"];

/// The manager under which the cluster's own controllers write. Replicas that they set follow the
/// load, as an autoscaler wants it.
const CONTROLLERS: &str = "kube-controller-manager";

/// Dumps that begin within this time of each other are one round.
const ROUND: SignedDuration = SignedDuration::from_secs(90);

/// Every change of every object, by entity and time.
pub(crate) fn change_findings(objects: &Objects) -> Vec<Finding> {
    let mut findings = Vec::new();
    let began = objects.dumps.values().filter_map(|times| times.first()).min().copied();
    for (entity, history) in &objects.histories {
        let kind = names::kind_of(entity);
        if CONSEQUENCES.contains(&kind) {
            continue;
        }
        let (owned, experiment) = history
            .latest()
            .map_or((false, false), |object| (is_owned(object), is_experiment(object)));
        let changes = Changes { objects, began, entity, owned, experiment };
        changes.lifetime(history, &mut findings);
        for pair in history.states.windows(2) {
            if let [old, new] = pair {
                changes.between(old, new, &mut findings);
            }
        }
    }
    findings
}

/// Changes of owned objects that follow from a change of an owner: controllers make them. Only what
/// owners themselves do not explain counts for itself.
pub(crate) fn consequences(changes: &[Finding], objects: &Objects) -> BTreeSet<EvidenceId> {
    // When each entity was changed first.
    let mut first: BTreeMap<&EntityId, Timestamp> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.signal != Signal::Restart) {
        let at = change.onset.map_or(change.time.start(), |made| made.earliest());
        first.entry(&change.entity).and_modify(|known| *known = at.min(*known)).or_insert(at);
    }
    let follows = |change: &&Finding| {
        let made = change.onset.map_or(change.time.start(), |made| made.latest());
        let mut owner = objects.owner(&change.entity);
        for _ in 0..MAX_OWNERS {
            let Some(one) = owner else { return false };
            if first.get(&one).is_some_and(|at| *at <= made) {
                return true;
            }
            owner = objects.owner(&one);
        }
        false
    };
    changes.iter().filter(follows).map(|change| change.id().clone()).collect()
}

/// Owners of owners are followed so far: what refers to itself in a circle must end.
const MAX_OWNERS: usize = 8;

impl Objects {
    /// The recorded owner of an object.
    fn owner(&self, entity: &EntityId) -> Option<EntityId> {
        let object = self.histories.get(entity)?.latest()?;
        let kind = text(object, "/metadata/ownerReferences/0/kind")?;
        let name = text(object, "/metadata/ownerReferences/0/name")?;
        let namespace = names::namespace_of(entity).unwrap_or_default();
        let owner = names::entity(namespace, kind, name)?;
        self.histories.contains_key(&owner).then_some(owner)
    }

    /// From the first dump to the last: the time over which changes are known.
    pub(crate) fn recorded(&self) -> Option<Window> {
        let times = || self.dumps.values().flatten();
        Window::new(*times().min()?, *times().max()?).ok()
    }
}

struct Changes<'a> {
    objects: &'a Objects,
    /// The first dump of anything.
    began: Option<Timestamp>,
    entity: &'a EntityId,
    owned: bool,
    experiment: bool,
}

impl Changes<'_> {
    /// The changed leaves between two states.
    fn between(&self, old: &Observation, new: &Observation, findings: &mut Vec<Finding>) {
        let mut leaves = changed_leaves(&old.object, &new.object);
        if self.owned {
            leaves.retain(|leaf| DELIBERATE.iter().any(|part| leaf.path.contains(part)));
        }
        let Written { at, manager, basis, made } = time_of_change(old, new);
        if manager.as_deref() == Some(CONTROLLERS) {
            leaves.retain(|leaf| leaf.path != "spec/replicas");
        }
        let (restarts, others): (Vec<Leaf>, Vec<Leaf>) =
            leaves.into_iter().partition(|leaf| leaf.path.ends_with("restartedAt"));
        if others.is_empty() {
            for leaf in restarts {
                findings.push(self.finding(Signal::Restart, leaf, (at, made), &basis));
            }
            return;
        }
        let left_out = others.len().saturating_sub(MAX_LEAVES);
        let signal = if self.experiment { Signal::Experiment } else { Signal::Configuration };
        for (count, leaf) in others.into_iter().take(MAX_LEAVES).enumerate() {
            let more = match left_out > 0 && count + 1 == MAX_LEAVES {
                true => format!("{basis}; {left_out} more fields changed at the same time"),
                false => basis.clone(),
            };
            findings.push(self.finding(signal, leaf, (at, made), &more));
        }
    }

    /// Creation and deletion, where no owner explains them, and the definition of experiments.
    fn lifetime(&self, history: &ObjectHistory, findings: &mut Vec<Finding>) {
        let (Some(first), Some(last)) = (history.states.first(), history.states.last()) else {
            return;
        };
        let Lifetime { created, is_new, gone } =
            Lifetime::new(self.objects, self.began, self.entity, history);
        let object = |old: Option<&str>, new: Option<&str>| Leaf {
            path: "object".to_owned(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
        };
        if self.experiment && self.objects.owner(self.entity).is_some() {
            // What defines the experiment is its schedule or workflow.
            return;
        }
        if self.experiment {
            let at = created.unwrap_or(first.first_seen);
            let spec = first.object.get("spec").map(ToString::to_string).unwrap_or_default();
            let leaf = object(None, Some(&shorten(&spec, MAX_DEFINITION)));
            findings.push(self.finding(
                Signal::Experiment,
                leaf,
                (at, created.map_or_else(|| self.until(first), Onset::at)),
                "defined at its creation time",
            ));
        } else if is_new && !self.owned {
            let (at, made, basis) = match created {
                Some(at) => (at, Onset::at(at), "its creation time"),
                None => (first.first_seen, self.until(first), "first seen in this dump"),
            };
            let leaf = object(None, Some("created"));
            findings.push(self.finding(Signal::Configuration, leaf, (at, made), basis));
        }
        if let Some(at) = gone.filter(|_| !self.owned) {
            let signal = if self.experiment { Signal::Experiment } else { Signal::Configuration };
            let basis = format!("last seen {}, missing in the next dump", last.last_seen);
            let made = match history.deleted {
                Some(at) => Onset::at(at),
                None => Onset::between(last.last_seen, at),
            };
            findings.push(self.finding(
                signal,
                object(Some("existed"), Some("deleted")),
                (at, made),
                &basis,
            ));
        }
    }

    /// From the last round of dumps that cannot have missed an object to the one that shows it first.
    fn until(&self, first: &Observation) -> Onset {
        let times = self.objects.dumps.get(names::kind_of(self.entity));
        let times = times.map(Vec::as_slice).unwrap_or_default();
        let rounds = times.partition_point(|at| first.first_seen.duration_since(*at) > ROUND);
        let before = rounds.checked_sub(1).and_then(|last| times.get(last)).copied();
        Onset::between(before.or(self.began).unwrap_or(first.first_seen), first.first_seen)
    }

    fn finding(
        &self,
        signal: Signal,
        leaf: Leaf,
        (at, made): (Timestamp, Onset),
        basis: &str,
    ) -> Finding {
        let Leaf { path, old, new } = leaf;
        let shown = |value: &Option<String>| match value {
            Some(text) => format!("{text:?}"),
            None => "nothing".to_owned(),
        };
        let source = match self.objects.file.as_str() {
            "" => "k8s_objects",
            file => file,
        };
        let draft = Draft {
            entity: self.entity,
            kind: EvidenceKind::Change,
            signal,
            trend: Trend::Steady,
            time: EvidenceTime::At(at),
            quantity: None,
            peer: None,
            source,
            query: format!("{source} {} field={path}", selector(self.entity)),
            excerpt: format!(
                "{path} changed from {} to {} (time: {basis})",
                shown(&old),
                shown(&new)
            ),
            onset: Some(made),
        };
        let mut content = draft.content();
        content.change = Some(ChangeDetail { path, old, new });
        Finding::new(content)
    }
}

/// When an object came and went, as far as that is known.
struct Lifetime {
    /// Its creation time.
    created: Option<Timestamp>,
    /// Whether it came after the first dump.
    is_new: bool,
    /// When it was missing first.
    gone: Option<Timestamp>,
}

impl Lifetime {
    /// `began` is the time of the first dump of anything.
    fn new(
        objects: &Objects,
        began: Option<Timestamp>,
        entity: &EntityId,
        history: &ObjectHistory,
    ) -> Self {
        let times = objects.dumps.get(names::kind_of(entity));
        let times = times.map(Vec::as_slice).unwrap_or_default();
        let first = history.states.first();
        let created = first.and_then(|first| moment(&first.object, "/metadata/creationTimestamp"));
        let is_new = match created {
            // The first object of its kind is new as well, whatever was dumped before.
            Some(at) => began.is_some_and(|began| at > began),
            None => times
                .first()
                .zip(first)
                .is_some_and(|(start, first)| first.first_seen.duration_since(*start) > ROUND),
        };
        let last = history.states.last();
        let gone = last.and_then(|last| missing_since(times, last.last_seen));
        Self { created, is_new, gone: history.deleted.or(gone) }
    }
}

/// What happened to an object, or to one of its leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeType {
    Changed,
    Added,
    Removed,
    /// Nothing but the request to restart.
    Restarted,
    Created,
    Deleted,
}

/// One change of one object, whether or not it can be a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectChange<'s> {
    pub(crate) entity: &'s EntityId,
    /// When it was made, and how that is known.
    pub(crate) at: Timestamp,
    pub(crate) basis: Cow<'static, str>,
    pub(crate) manager: Option<String>,
    pub(crate) change: ChangeType,
    pub(crate) path: String,
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
    /// The last dump without it.
    pub(crate) seen_before: Option<Timestamp>,
    /// The first dump with it.
    pub(crate) seen_after: Timestamp,
    /// Whether the cluster itself makes such changes in consequence of others.
    pub(crate) consequence: bool,
}

/// Every change of one object.
pub(crate) fn object_changes<'s>(objects: &'s Objects, entity: &EntityId) -> Vec<ObjectChange<'s>> {
    let Some((entity, history)) = objects.histories.get_key_value(entity) else {
        return Vec::new();
    };
    let (Some(first), Some(last)) = (history.states.first(), history.states.last()) else {
        return Vec::new();
    };
    let follows = CONSEQUENCES.contains(&names::kind_of(entity));
    let owned = is_owned(&last.object);
    let mut changes = Vec::new();
    let add = |changes: &mut Vec<_>, change, at, basis: &'static str, seen_before, seen_after| {
        changes.push(ObjectChange {
            entity,
            at,
            basis: Cow::Borrowed(basis),
            manager: None,
            change,
            path: "object".to_owned(),
            old: (change == ChangeType::Deleted).then(|| "existed".to_owned()),
            new: (change == ChangeType::Created).then(|| "created".to_owned()),
            seen_before,
            seen_after,
            consequence: follows || owned,
        });
    };
    let began = objects.dumps.values().filter_map(|times| times.first()).min().copied();
    let lifetime = Lifetime::new(objects, began, entity, history);
    if lifetime.is_new {
        let (at, basis) = match lifetime.created {
            Some(at) => (at, "creation time"),
            None => (first.first_seen, "first dump that shows it"),
        };
        add(&mut changes, ChangeType::Created, at, basis, None, first.first_seen);
    }
    for pair in history.states.windows(2) {
        let [old, new] = pair else { continue };
        let Written { at, manager, .. } = time_of_change(old, new);
        let basis = if manager.is_some() { "managed fields" } else { "first dump that shows it" };
        for Leaf { path, old: before, new: after } in changed_leaves(&old.object, &new.object) {
            let change = match (&before, &after) {
                _ if path.ends_with("restartedAt") => ChangeType::Restarted,
                (None, _) => ChangeType::Added,
                (_, None) => ChangeType::Removed,
                _ => ChangeType::Changed,
            };
            let by_controller = manager.as_deref() == Some(CONTROLLERS) && path == "spec/replicas";
            let deliberate = DELIBERATE.iter().any(|part| path.contains(part));
            changes.push(ObjectChange {
                entity,
                at,
                basis: Cow::Borrowed(basis),
                manager: manager.clone(),
                change,
                path,
                old: before,
                new: after,
                seen_before: Some(old.last_seen),
                seen_after: new.first_seen,
                consequence: follows || by_controller || (owned && !deliberate),
            });
        }
    }
    if let Some(at) = lifetime.gone {
        let basis = match history.deleted {
            Some(_) => "reported as deleted",
            None => "first round of dumps without it",
        };
        add(&mut changes, ChangeType::Deleted, at, basis, Some(last.last_seen), at);
    }
    changes
}

/// The first round of dumps without an object that was last seen at `last`. A round with less than
/// half the rows of the object's last one is taken as cut and says nothing.
fn missing_since(times: &[Timestamp], last: Timestamp) -> Option<Timestamp> {
    // The times are sorted, and as many as there are rows: each object looks into them by halving.
    let rows = |at: Timestamp| {
        let start = times.partition_point(|other| at.duration_since(*other) > ROUND);
        let end = times.partition_point(|other| other.duration_since(at) <= ROUND);
        end - start
    };
    let next = times.partition_point(|at| at.duration_since(last) <= ROUND);
    let next = *times.get(next)?;
    (2 * rows(next) >= rows(last)).then_some(next)
}

/// Whether a controller made the object.
fn is_owned(object: &Value) -> bool {
    object.pointer("/metadata/ownerReferences/0").is_some()
}

/// When and by which manager a change was made, if that is known, and how it is known.
struct Written {
    at: Timestamp,
    manager: Option<String>,
    basis: String,
    /// The interval in which it was made.
    made: Onset,
}

/// When a change was made, and how that is known: the newest manager entry that is new and later
/// than the dump before, else the dump that shows the change first.
///
/// An entry can be later than the dump that shows it when clocks differ. It is believed all the
/// same: the later time blames a change for less.
fn time_of_change(old: &Observation, new: &Observation) -> Written {
    let before = managers(&old.object);
    let after = managers(&new.object);
    let written = after.into_iter().filter(|entry| !before.contains(entry));
    let later = written.filter(|(_, at)| old.last_seen < *at);
    match later.max_by_key(|(_, at)| *at) {
        Some((manager, at)) => {
            let basis = format!("written by {manager}, by managedFields");
            Written { at, manager: Some(manager), basis, made: Onset::at(at) }
        }
        None => {
            let basis = format!("first seen in this dump, the one before is of {}", old.last_seen);
            let made = Onset::between(old.last_seen, new.first_seen);
            Written { at: new.first_seen, manager: None, basis, made }
        }
    }
}

/// Manager and time of every entry that is not about the status.
fn managers(object: &Value) -> Vec<(String, Timestamp)> {
    let entries = list(object, "/metadata/managedFields");
    let writes = entries.filter(|entry| text(entry, "/subresource") != Some("status"));
    let read = |entry: &Value| {
        let manager = text(entry, "/manager").unwrap_or("someone");
        Some((shorten(manager, 80), moment(entry, "/time")?))
    };
    writes.filter_map(read).collect()
}
