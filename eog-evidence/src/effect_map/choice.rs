//! Which changes qualify, and which anomalies each can have caused.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::Signal;
use eog_core::{EntityId, EvidenceId, EvidenceKind, Finding, Timestamp};
use jiff::SignedDuration;

use super::cause::{Impact, MAX_NOTES, Qualifying};
use super::roads::{Road, Search, shorter};
use crate::alarms::{Alarm, Alarms};
use crate::names::Names;
use crate::ways::{Number, Ways};

/// At most this many qualifying changes are kept, strongest first.
pub(super) const MAX_QUALIFYING: usize = 256;

/// Times that differ by less are not told apart: alerts are commonly evaluated over 5 minutes, and
/// objects dumped about as often.
pub(crate) const ABOUT_AS_NEAR: SignedDuration = SignedDuration::from_mins(5);

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

/// Chooses among changes that can be causes.
pub(super) fn choose<'a>(
    ways: &'a Ways,
    changes: impl Iterator<Item = &'a Finding>,
    alarms: &'a Alarms<'a>,
) -> Chosen {
    let candidates: Vec<Candidate<'a>> =
        changes.filter_map(|change| Candidate::new(change, ways)).collect();
    let nearest = Nearest::new(alarms, &candidates);
    let mut waiting: Vec<Waiting<'a>> =
        candidates.into_iter().filter_map(|candidate| nearest.waiting(candidate)).collect();
    waiting.sort_by(|a, b| a.strength.cmp(&b.strength));
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

/// A change that can be a cause.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    change: &'a Finding,
    at: Timestamp,
    entity: Number,
    is_demand: bool,
}

impl<'a> Candidate<'a> {
    fn new(change: &'a Finding, ways: &Ways) -> Option<Self> {
        let entity = ways.number(&change.entity)?;
        let (at, is_demand) = (change.time.start(), change.signal == Signal::Demand);
        Some(Self { change, at, entity, is_demand })
    }
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

/// An anomaly that follows a change and is reached by it.
struct Follower<'a> {
    alarm: &'a Alarm<'a>,
    onset: Timestamp,
    /// The length of the direct path.
    hops: usize,
    /// The place of the onset among all.
    slot: usize,
}

/// For each onset of each anomaly how closely it follows a change.
///
/// What an anomaly follows most closely is its likeliest cause: whatever else was changed went
/// well for as long as lies between. Changes that are about as near all stay.
struct Nearest<'a> {
    alarms: &'a Alarms<'a>,
    /// For each anomaly the slots of its onsets. Equal onsets of equal anomalies have one slot.
    slots: Vec<Vec<usize>>,
    /// For each slot the least time to it, but for changes of demand.
    least: Vec<SignedDuration>,
}

impl<'a> Nearest<'a> {
    fn new(alarms: &'a Alarms<'a>, candidates: &[Candidate<'_>]) -> Self {
        let mut known = BTreeMap::new();
        let mut slot = |alarm: &'a Alarm<'a>, onset: Timestamp| {
            let new = known.len();
            let anomaly = alarm.anomaly;
            *known.entry((&anomaly.name, &anomaly.entity, onset)).or_insert(new)
        };
        let all = alarms.all().iter();
        let slots = all.map(|alarm| alarm.onsets.iter().map(|at| slot(alarm, *at)).collect());
        let slots = slots.collect();
        let mut nearest = Self { alarms, slots, least: vec![SignedDuration::MAX; known.len()] };
        for candidate in candidates.iter().filter(|candidate| !candidate.is_demand) {
            let gaps: Vec<(usize, SignedDuration)> = nearest
                .followers(candidate)
                .map(|follower| (follower.slot, follower.onset.duration_since(candidate.at)))
                .collect();
            for (slot, gap) in gaps {
                if let Some(least) = nearest.least.get_mut(slot) {
                    *least = gap.min(*least);
                }
            }
        }
        nearest
    }

    /// Every anomaly that follows a change and is reached by it.
    fn followers(&self, candidate: &Candidate<'_>) -> impl Iterator<Item = Follower<'a>> {
        let Candidate { at, entity, is_demand, .. } = *candidate;
        self.alarms.all().iter().zip(&self.slots).filter_map(move |(alarm, slots)| {
            let next = alarm.next(at)?;
            let by_load = if is_demand { self.alarms.hops_of_load(entity, alarm) } else { None };
            let hops = by_load.into_iter().chain(self.alarms.hops(entity, alarm)).min()?;
            Some(Follower { alarm, onset: *alarm.onsets.get(next)?, hops, slot: *slots.get(next)? })
        })
    }

    /// Those that no other change precedes much more closely. Load builds up: a change of demand
    /// neither gives way nor makes others give way.
    fn kept(&self, candidate: &Candidate<'_>) -> impl Iterator<Item = Follower<'a>> {
        let Candidate { at, is_demand, .. } = *candidate;
        self.followers(candidate).filter(move |follower| {
            let gap = follower.onset.duration_since(at);
            let least = self.least.get(follower.slot);
            is_demand || least.is_none_or(|least| is_about_as_near(gap, *least))
        })
    }

    fn waiting(&self, candidate: Candidate<'a>) -> Option<Waiting<'a>> {
        let first = self.kept(&candidate).map(|follower| (follower.onset, follower.hops)).min();
        let (onset, hops) = first?;
        let change = candidate.change;
        let gap = onset.duration_since(candidate.at);
        let strength = Strength { gap, hops, entity: &change.entity, id: change.id() };
        Some(Waiting { candidate, strength })
    }

    /// The length of the path to an anomaly, and the path if it leads through a named entity.
    fn path_through(&self, road: &Road, follower: &Follower<'_>) -> Option<Vec<Number>> {
        let named = road.named_entity()?;
        let hops = self.alarms.hops(named, follower.alarm)?;
        if !road.is_near(hops) {
            return None;
        }
        road.through(&self.alarms.path(named, follower.alarm)?)
    }

    /// The length of the path to the first anomaly, in edges.
    fn hops_to_first(&self, candidate: &Candidate<'_>, road: &Road) -> Option<usize> {
        let hops = self.kept(candidate).map(|follower| {
            let through = self.path_through(road, &follower).map(|path| path.len() - 1);
            (follower.onset, through.unwrap_or(follower.hops))
        });
        hops.min().map(|(_, hops)| hops)
    }
}

/// Whether a change that lies `gap` before an anomaly is about as near as one that lies `least`
/// before it: at most 5 minutes or half as long again farther away.
fn is_about_as_near(gap: SignedDuration, least: SignedDuration) -> bool {
    gap <= least.saturating_add(ABOUT_AS_NEAR.max(least / 2))
}

/// The strongest changes, of those that wait in the order of what they are at best. What a change
/// names is looked for only until nobody who waits can be stronger than what was found.
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
        followers.sort_by(|one, other| one.0.cmp(&other.0));
        let mut taken = BTreeSet::new();
        followers.retain(|((_, alert, affected, _), _, _)| taken.insert((*alert, *affected)));
        for ((_, _, _, place), follower, through) in followers.into_iter().take(MAX_NOTES) {
            let Some((candidate, _)) = strongest.get(place) else { continue };
            let path = through.or_else(|| direct(nearest.alarms, candidate, &follower));
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

/// The direct path of a change to an anomaly.
fn direct(
    alarms: &Alarms<'_>,
    candidate: &Candidate<'_>,
    follower: &Follower<'_>,
) -> Option<Vec<Number>> {
    let Candidate { entity, is_demand, .. } = *candidate;
    let by_load = if is_demand { alarms.path_of_load(entity, follower.alarm) } else { None };
    shorter(by_load, alarms.path(entity, follower.alarm))
}
