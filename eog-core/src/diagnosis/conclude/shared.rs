//! The same change in several places, such as a rollout over a fleet: one cause.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::frontier::{Found, Frontier};
use crate::belief::Belief;
use crate::evidence::{EvidenceKind, Signal};
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case::RecordedChange;
use crate::state::State;

/// From one place to the next a rollout takes at most so long.
const NEXT_PLACE: SignedDuration = SignedDuration::from_mins(10);

/// One change that was made in several places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedChange {
    /// The change in a few words. Untrusted text.
    pub what: String,
    /// The origins that cite it, by name.
    pub places: Vec<EntityId>,
    /// When it was made in the first of them.
    pub first: Timestamp,
    /// When it was made in the last of them.
    pub last: Timestamp,
}

impl SharedChange {
    /// Whether a change on record is this one in one of its places.
    pub(crate) fn is(&self, change: &RecordedChange) -> bool {
        let made = change.made.earliest();
        self.what == change.what
            && (self.first..=self.last).contains(&made)
            && self.places.binary_search(&change.entity).is_ok()
    }
}

/// A finding of a change, and its time.
type Change = (EvidenceId, Timestamp);

/// A change that an origin of a group cites.
struct Cited<'s> {
    what: &'s str,
    at: Timestamp,
    entity: &'s EntityId,
    group: usize,
}

/// Joins the groups that explain something and cite the same change: equal words of the record, each made at most ten minutes
/// after the one before. Restarts and experiments are no such change: they have a cause of their own, or are named as
/// what they are.
pub(super) fn join(found: &mut Frontier, state: &State) {
    let cited = cited(&found.groups, state);
    let goes_on =
        |a: &Cited<'_>, b: &Cited<'_>| a.what == b.what && b.at.duration_since(a.at) <= NEXT_PLACE;
    let mut joined: Vec<usize> = (0..found.groups.len()).collect();
    let mut shared: Vec<(usize, SharedChange)> = Vec::new();
    for act in cited.chunk_by(goes_on) {
        let places: BTreeSet<&EntityId> = act.iter().map(|one| one.entity).collect();
        let ([first, ..], [.., last]) = (act, act) else { continue };
        if places.len() < 2 {
            continue;
        }
        let groups: BTreeSet<usize> = act.iter().map(|one| joined[one.group]).collect();
        let into = groups.first().copied().unwrap_or(first.group);
        for group in joined.iter_mut().filter(|group| groups.contains(&**group)) {
            *group = into;
        }
        let change = SharedChange {
            what: first.what.to_owned(),
            places: places.into_iter().cloned().collect(),
            first: first.at,
            last: last.at,
        };
        shared.push((first.group, change));
    }
    // Where several changes are shared, the one in most places stands for them.
    shared.sort_by_key(|(_, change)| change.places.len());
    for (group, change) in shared {
        found.groups[joined[group]].group.shared_change = Some(change);
    }
    for from in (0..joined.len()).rev().filter(|&group| joined[group] != group) {
        let part = found.groups.remove(from);
        found.groups[joined[from]].add(part);
    }
    found.groups.sort_by(|a, b| a.group.origins.cmp(&b.group.origins));
}

/// The changes of configuration that groups cite and that are on record, by words, then time.
fn cited<'s>(groups: &[Found], state: &'s State) -> Vec<Cited<'s>> {
    let explaining = groups.iter().enumerate().filter(|(_, found)| !found.group.covers.is_empty());
    let mut ids: BTreeMap<&'s EntityId, (usize, Vec<Change>)> = BTreeMap::new();
    for (group, found) in explaining {
        for origin in &found.group.origins {
            let Some((entity, node)) = state.nodes.get_key_value(origin) else { continue };
            let cited = node.belief.iter().flat_map(Belief::cited);
            let changes = cited.filter(|id| id.kind() == EvidenceKind::Change).filter_map(|id| {
                let seen = node.seen.get(&id)?;
                (seen.signal == Signal::Configuration).then(|| (id, seen.time.start()))
            });
            let changes: Vec<_> = changes.collect();
            if !changes.is_empty() {
                ids.insert(entity, (group, changes));
            }
        }
    }
    let record = state.record.as_ref().filter(|_| ids.len() > 1);
    let changes = record.into_iter().flat_map(|record| &record.changes);
    let mut cited: Vec<Cited<'_>> = changes
        .filter_map(|change| {
            let (&entity, (group, ids)) = ids.get_key_value(&change.entity)?;
            let is_it = |(id, at): &Change| match &change.finding {
                Some(finding) => finding == id,
                None => (change.made.earliest()..=change.made.latest()).contains(at),
            };
            ids.iter().any(is_it).then(|| Cited {
                what: &change.what,
                at: change.made.earliest(),
                entity,
                group: *group,
            })
        })
        .filter(|cited| !cited.what.is_empty())
        .collect();
    cited.sort_by_key(|one| (one.what, one.at, one.entity));
    cited
}
