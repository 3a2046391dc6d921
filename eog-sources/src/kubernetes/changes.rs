//! Changes that a cluster knows of: revisions of workloads, and who wrote which fields when.

use std::collections::BTreeMap;

use eog_core::evidence::Signal;
use eog_sre::{ChangedLeaf, changed_leaves};
use serde_json::{Value, json};

use super::cluster::{Cluster, whose};
use super::fields::Written;
use super::kinds::Kind;
use super::object::Object;
use crate::period::Period;
use crate::piece::{Change, Millis, Piece, Who};

/// Most changed fields of one revision that become changes.
const MAX_LEAVES: usize = 20;

/// A write of a template and the revision that follows from it lie no further apart, in milliseconds.
const SAME: Millis = 10_000;

/// The kinds whose writes are changes.
const WRITTEN: [Kind; 13] = [
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::CronJob,
    Kind::Service,
    Kind::ConfigMap,
    Kind::Secret,
    Kind::Autoscaler,
    Kind::Ingress,
    Kind::NetworkPolicy,
    Kind::Claim,
    Kind::Quota,
    Kind::Node,
];

/// Adds the changes of a period.
pub(super) fn add(cluster: &Cluster, period: Period, piece: &mut Piece) {
    let mut rollouts = Rollouts::default();
    for (revisions, of) in [
        (Kind::ReplicaSet, &[Kind::Deployment][..]),
        (Kind::ControllerRevision, &[Kind::StatefulSet, Kind::DaemonSet][..]),
    ] {
        for kind in of {
            rollouts.read(cluster, *kind, revisions, period, piece);
        }
    }
    for kind in WRITTEN {
        for object in cluster.of(kind) {
            writes(kind, object, &rollouts, period, &mut piece.changes);
        }
    }
}

/// When each workload got a new revision.
#[derive(Default)]
struct Rollouts {
    times: BTreeMap<Who, Vec<Millis>>,
}

impl Rollouts {
    /// What differs between successive revisions.
    fn read(
        &mut self,
        cluster: &Cluster,
        kind: Kind,
        revisions: Kind,
        period: Period,
        piece: &mut Piece,
    ) {
        let mut by_owner: BTreeMap<(&str, &str), Vec<&Object>> = BTreeMap::new();
        for revision in cluster.of(revisions) {
            if let Some((of, name)) = &revision.owner
                && of == kind.name()
            {
                by_owner.entry((&revision.namespace, name)).or_default().push(revision);
            }
        }
        for workload in cluster.of(kind) {
            let key = (workload.namespace.as_str(), workload.name.as_str());
            let Some(mut of) = by_owner.remove(&key) else { continue };
            of.sort_by_key(|it| (it.revision, it.created));
            let who = whose(kind.name(), &workload.namespace, &workload.name);
            for pair in of.windows(2) {
                let [old, new] = pair else { continue };
                let Some((at, how)) = made(workload, old, new) else { continue };
                self.times.entry(who.clone()).or_default().push(at);
                if !period.contains(at) {
                    continue;
                }
                let (Some(before), Some(after)) = (&old.template, &new.template) else {
                    piece.missing.push(format!(
                        "{}/{} {}: a revision without a template that can be read",
                        workload.namespace,
                        kind.name(),
                        workload.name
                    ));
                    continue;
                };
                let leaves = changed_leaves(&whole(before), &whole(after));
                let about = format!("{how} {} of {}", new.revision, kind.name());
                revised(&who, at, leaves, &about, &mut piece.changes);
            }
        }
    }

    fn explain(&self, who: &Who, at: Millis) -> bool {
        self.times.get(who).is_some_and(|times| times.iter().any(|it| (it - at).abs() <= SAME))
    }
}

/// A template as an object, so that equal fields have equal paths.
fn whole(template: &Value) -> Value {
    let metadata = template.get("metadata").cloned().unwrap_or_default();
    json!({"metadata": metadata, "spec": template.get("spec").cloned().unwrap_or_default()})
}

/// When a revision came after another. One that was there before is taken up again by a rollback: then the
/// last write of the template says.
fn made(workload: &Object, old: &Object, new: &Object) -> Option<(Millis, &'static str)> {
    let created = new.created?;
    if old.created.is_none_or(|before| before <= created) {
        return Some((created, "revision"));
    }
    let wrote = |it: &&Written| it.fields.iter().any(|(field, _)| is_template(field));
    let at = workload.written.iter().filter(wrote).map(|it| it.at).max()?;
    Some((at, "rollback to revision"))
}

fn revised(who: &Who, at: Millis, leaves: Vec<ChangedLeaf>, about: &str, all: &mut Vec<Change>) {
    let (restarts, others): (Vec<_>, Vec<_>) =
        leaves.into_iter().partition(|leaf| leaf.path.ends_with("restartedAt"));
    let (signal, leaves) = match others.is_empty() {
        true => (Signal::Restart, restarts),
        false => (Signal::Configuration, others),
    };
    let left = leaves.len().saturating_sub(MAX_LEAVES);
    for (count, leaf) in leaves.into_iter().take(MAX_LEAVES).enumerate() {
        let more = match left > 0 && count + 1 == MAX_LEAVES {
            true => format!("; {left} more fields differ"),
            false => String::new(),
        };
        all.push(Change {
            at,
            who: who.clone(),
            signal,
            path: leaf.path,
            old: leaf.old,
            new: leaf.new,
            description: format!("{about}{more}"),
        });
    }
}

/// The last write, where no revision says more.
fn writes(kind: Kind, object: &Object, rollouts: &Rollouts, period: Period, all: &mut Vec<Change>) {
    let who = whose(kind.name(), &object.namespace, &object.name);
    let change = |at, path: &str, new: Option<String>, description| Change {
        at,
        who: who.clone(),
        signal: Signal::Configuration,
        path: path.to_owned(),
        old: None,
        new,
        description,
    };
    let made = object.created.filter(|at| period.contains(*at) && object.owner.is_none());
    if let Some(at) = made {
        let new = Some("created".to_owned());
        all.push(change(at, &in_kind(kind, "object"), new, format!("{} created", kind.name())));
    }
    for Written { by, at, fields } in &object.written {
        let is_new = object.created.is_some_and(|created| (at - created).abs() <= SAME);
        if !period.contains(*at) || is_new || object.owner.is_some() {
            continue;
        }
        // What differs between revisions is given there; which of its other fields the writer changed is not known.
        let of_template = fields.iter().any(|(field, _)| is_template(field));
        if of_template && rollouts.explain(&who, *at) {
            continue;
        }
        let Some((first, others)) = fields.split_first() else { continue };
        if others.is_empty() {
            let about = format!("{} written by {by}", kind.name());
            all.push(change(*at, &in_kind(kind, &first.0), first.1.clone(), about));
            continue;
        }
        let names: Vec<&str> = fields.iter().map(|(field, _)| field.as_str()).collect();
        let names = eog_evidence::shorten(&names.join(", "), 300);
        let about = format!("{} written by {by}, which owns {names}", kind.name());
        all.push(change(*at, &in_kind(kind, "fields"), None, about));
    }
}

/// Workloads and services of one name are one entity: their fields are distinguished.
fn in_kind(kind: Kind, field: &str) -> String {
    match kind {
        Kind::Service => format!("Service/{field}"),
        _ => field.to_owned(),
    }
}

fn is_template(field: &str) -> bool {
    field == "spec/template" || field.starts_with("spec/template/")
}
