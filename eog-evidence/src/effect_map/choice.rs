//! Which changes qualify, and which anomalies each can have caused.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::Signal;
use eog_core::{EntityId, EvidenceId, EvidenceKind, Finding};
use jiff::SignedDuration;

use super::cause::{Impact, MAX_NOTES, Qualifying};
use super::nearest::{Candidate, Follower, Nearest};
use super::roads::{Road, Search};
use crate::alarms::Alarms;
use crate::names::Names;
use crate::ways::{Number, Ways};

/// At most this many qualifying changes are kept, strongest first.
pub(super) const MAX_QUALIFYING: usize = 256;

/// The changes that qualify, strongest first, and by entity the anomalies that its own changes can
/// have caused.
pub(super) struct Chosen {
    pub(super) changes: Vec<Qualifying>,
    pub(super) impacts: BTreeMap<EntityId, Vec<Impact>>,
}

/// Whether a finding is a change that can be a cause.
pub(super) fn can_cause(finding: &Finding) -> bool {
    finding.kind == EvidenceKind::Change && finding.signal != Signal::Restart
}

/// Chooses among changes that can be causes. `ran` gives the entities of experiments that ran.
pub(super) fn choose<'a>(
    ways: &'a Ways,
    changes: impl Iterator<Item = &'a Finding>,
    ran: &BTreeSet<Number>,
    alarms: &'a Alarms<'a>,
) -> Chosen {
    let candidates: Vec<Candidate<'a>> =
        changes.filter_map(|change| Candidate::new(change, ways, ran)).collect();
    let nearest = Nearest::new(alarms, &candidates);
    let mut waiting: Vec<Waiting<'a>> =
        candidates.into_iter().filter_map(|candidate| Waiting::new(candidate, &nearest)).collect();
    waiting.sort_by_key(|one| one.strength);
    waiting.dedup_by(|a, b| a.strength.id == b.strength.id);
    let strongest = strongest(ways, waiting, &nearest);
    let impacts = impacts(ways, &strongest, &nearest);
    let qualifying = |(candidate, road): (Candidate<'_>, Road)| Qualifying {
        change: candidate.change.clone(),
        at: candidate.at,
        road,
    };
    Chosen { changes: strongest.into_iter().map(qualifying).collect(), impacts }
}

/// What orders changes, the strongest first: the smallest time to the first anomaly that follows,
/// then the shorter path to it, then the name, then the id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Strength<'a> {
    gap: SignedDuration,
    hops: usize,
    entity: &'a EntityId,
    id: &'a EvidenceId,
}

/// A change that qualifies, and what it is at best: a path through an entity that it names is never
/// shorter than the direct one.
struct Waiting<'a> {
    candidate: Candidate<'a>,
    strength: Strength<'a>,
}

impl<'a> Waiting<'a> {
    /// Nothing when no anomaly is left to the change.
    fn new(candidate: Candidate<'a>, nearest: &Nearest<'_>) -> Option<Self> {
        let followers = nearest.kept(&candidate);
        let (began, hops) = followers.map(|follower| (follower.began, follower.hops)).min()?;
        let change = candidate.change;
        let gap = began.duration_since(candidate.at);
        let strength = Strength { gap, hops, entity: &change.entity, id: change.id() };
        Some(Self { candidate, strength })
    }
}

/// The strongest changes, of those that wait in the order of what they are at best. What a change
/// names is searched for only until none that waits can be stronger than what was found.
fn strongest<'a>(
    ways: &Ways,
    waiting: Vec<Waiting<'a>>,
    nearest: &Nearest<'a>,
) -> Vec<(Candidate<'a>, Road)> {
    let names = Names::new(ways.names());
    let mut search = Search::new(ways);
    let mut found: BTreeMap<Strength<'a>, (Candidate<'a>, Road)> = BTreeMap::new();
    for Waiting { candidate, strength } in waiting {
        let weakest = found.last_key_value().map(|(weakest, _)| *weakest);
        if found.len() >= MAX_QUALIFYING && weakest.is_some_and(|weakest| strength > weakest) {
            break;
        }
        let Candidate { entity: start, is_demand, change, .. } = candidate;
        let spoken = change.change.as_ref().filter(|_| !is_demand);
        let named = spoken.and_then(|change| search.named(start, &names.spoken(change)));
        let road = Road { start, is_demand, named };
        let hops = match road.named {
            Some(_) => nearest.hops_to_first(&candidate, &road).unwrap_or(strength.hops),
            None => strength.hops,
        };
        found.insert(Strength { hops, ..strength }, (candidate, road));
        if found.len() > MAX_QUALIFYING {
            found.pop_last();
        }
    }
    found.into_values().collect()
}

/// By changed entity the anomalies that follow its own changes, earliest first, each once: of
/// several changes the latest before an onset explains it best.
fn impacts(
    ways: &Ways,
    strongest: &[(Candidate<'_>, Road)],
    nearest: &Nearest<'_>,
) -> BTreeMap<EntityId, Vec<Impact>> {
    let mut own: BTreeMap<Number, Vec<usize>> = BTreeMap::new();
    for (place, (candidate, _)) in strongest.iter().enumerate() {
        own.entry(candidate.entity).or_default().push(place);
    }
    let mut impacts = BTreeMap::new();
    for places in own.into_values() {
        let mut followers = Vec::new();
        for place in &places {
            let Some((candidate, road)) = strongest.get(*place) else { continue };
            followers.extend(nearest.kept(candidate).map(|follower| {
                let through = nearest.path_through(road, &follower);
                let hops = through.as_ref().map_or(follower.hops, |path| path.len() - 1);
                let anomaly = follower.alarm.anomaly;
                let order = (follower.onset, Reverse(candidate.at), hops);
                ((order, &anomaly.name, &anomaly.entity, *place), follower, through)
            }));
        }
        followers.sort_by_key(|(order, _, _)| *order);
        let mut taken = BTreeSet::new();
        followers.retain(|((_, alert, affected, _), _, _)| taken.insert((*alert, *affected)));
        for ((_, _, _, place), follower, through) in followers.into_iter().take(MAX_NOTES) {
            let Some((candidate, _)) = strongest.get(place) else { continue };
            let path = through.or_else(|| nearest.path(candidate, &follower));
            let Follower { alarm, onset, .. } = follower;
            let impact = Impact {
                place,
                alert: alarm.anomaly.name.clone(),
                affected: alarm.anomaly.entity.clone(),
                onset,
                path: ways.named(&path.unwrap_or_default()),
            };
            let entity = candidate.change.entity.clone();
            impacts.entry(entity).or_insert_with(Vec::new).push(impact);
        }
    }
    impacts
}
