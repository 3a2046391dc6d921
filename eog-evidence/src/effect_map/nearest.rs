//! Which anomalies each change can have caused, and which it leaves to nearer changes.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::Signal;
use eog_core::{Finding, Timestamp};
use jiff::SignedDuration;

use super::roads::{Road, shorter};
use crate::alarms::{Alarm, Alarms};
use crate::paths::Travel;
use crate::ways::{Number, Ways};

/// Times that differ by less are not distinguished: alerts are commonly evaluated over 5 minutes, and
/// objects dumped about as often.
pub(crate) const ABOUT_AS_NEAR: SignedDuration = SignedDuration::from_mins(5);

/// A change that can be a cause.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) change: &'a Finding,
    pub(super) at: Timestamp,
    pub(super) entity: Number,
    pub(super) is_demand: bool,
    /// A fault experiment that is known to have run.
    pub(super) ran: bool,
}

impl<'a> Candidate<'a> {
    /// `ran` gives the entities of experiments that ran. What defines one may be one step above it, as
    /// a schedule is.
    pub(super) fn new(change: &'a Finding, ways: &Ways, ran: &BTreeSet<Number>) -> Option<Self> {
        let entity = ways.number(&change.entity)?;
        let (at, is_demand) = (change.time.start(), change.signal == Signal::Demand);
        let onward = || ways.lanes(Travel::Effects).onward.of(entity);
        let ran = change.signal == Signal::Experiment
            && (ran.contains(&entity) || onward().any(|one| ran.contains(&one)));
        Some(Self { change, at, entity, is_demand, ran })
    }
}

/// An anomaly that follows a change and is reached by it.
pub(super) struct Follower<'a> {
    pub(super) alarm: &'a Alarm<'a>,
    pub(super) onset: Timestamp,
    /// By when its harm had begun.
    pub(super) began: Timestamp,
    /// The length of the direct path.
    pub(super) hops: usize,
    /// The place of the onset among all.
    slot: usize,
}

/// For each onset of each anomaly how closely it follows a change.
///
/// What an anomaly follows most closely is its likeliest cause: whatever else was changed went
/// well for as long as lies between. Changes that are about as near all stay.
pub(super) struct Nearest<'a> {
    alarms: &'a Alarms<'a>,
    /// For each anomaly the slots of its onsets. Equal onsets of equal anomalies have one slot.
    slots: Vec<Vec<usize>>,
    /// For each slot the least time to it, but for changes of demand.
    least: Vec<SignedDuration>,
    /// For each slot whether an experiment that ran is about as near as any change.
    injected: Vec<bool>,
}

impl<'a> Nearest<'a> {
    pub(super) fn new(alarms: &'a Alarms<'a>, candidates: &[Candidate<'_>]) -> Self {
        let mut known = BTreeMap::new();
        let mut slot = |alarm: &'a Alarm<'a>, onset: Timestamp| {
            let new = known.len();
            let anomaly = alarm.anomaly;
            *known.entry((&anomaly.name, &anomaly.entity, onset)).or_insert(new)
        };
        let all = alarms.all().iter();
        let slots = all.map(|alarm| alarm.onsets.iter().map(|at| slot(alarm, *at)).collect());
        let slots = slots.collect();
        let least = vec![SignedDuration::MAX; known.len()];
        let injected = vec![false; known.len()];
        let mut nearest = Self { alarms, slots, least, injected };
        for candidate in candidates.iter().filter(|candidate| !candidate.is_demand) {
            let gaps: Vec<(usize, SignedDuration)> = nearest
                .followers(candidate)
                .map(|follower| (follower.slot, follower.began.duration_since(candidate.at)))
                .collect();
            for (slot, gap) in gaps {
                if let Some(least) = nearest.least.get_mut(slot) {
                    *least = gap.min(*least);
                }
            }
        }
        for candidate in candidates.iter().filter(|candidate| candidate.ran) {
            let kept: Vec<usize> = nearest.kept(candidate).map(|follower| follower.slot).collect();
            // An alert that is renewed reports the same trouble.
            let renewed = nearest
                .slots
                .iter()
                .flat_map(|slots| slots.iter().skip_while(|slot| !kept.contains(*slot)));
            for slot in renewed {
                if let Some(injected) = nearest.injected.get_mut(*slot) {
                    *injected = true;
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
            let (onset, slot) = (*alarm.onsets.get(next)?, *slots.get(next)?);
            Some(Follower { alarm, onset, began: alarm.began(next)?, hops, slot })
        })
    }

    /// Those that no other change precedes much more closely, and no experiment about as closely: it
    /// does harm by design, and what else was changed then need not. Load builds up: a change of
    /// demand neither gives way nor makes others give way.
    pub(super) fn kept(&self, candidate: &Candidate<'_>) -> impl Iterator<Item = Follower<'a>> {
        let Candidate { at, is_demand, ran, .. } = *candidate;
        self.followers(candidate).filter(move |follower| {
            let gap = follower.began.duration_since(at);
            let least = self.least.get(follower.slot);
            let injected = !ran && self.injected.get(follower.slot).is_some_and(|one| *one);
            is_demand || !injected && least.is_none_or(|least| is_about_as_near(gap, *least))
        })
    }

    /// The direct path to an anomaly.
    pub(super) fn path(
        &self,
        candidate: &Candidate<'_>,
        follower: &Follower<'_>,
    ) -> Option<Vec<Number>> {
        let Candidate { entity, is_demand, .. } = *candidate;
        let alarm = follower.alarm;
        let by_load = if is_demand { self.alarms.path_of_load(entity, alarm) } else { None };
        shorter(by_load, self.alarms.path(entity, alarm))
    }

    /// The path to an anomaly, if it leads through a named entity.
    pub(super) fn path_through(&self, road: &Road, follower: &Follower<'_>) -> Option<Vec<Number>> {
        let named = road.named_entity()?;
        let hops = self.alarms.hops(named, follower.alarm)?;
        if !road.is_near(hops) {
            return None;
        }
        road.through(&self.alarms.path(named, follower.alarm)?)
    }

    /// The length of the path to the first anomaly, in edges.
    pub(super) fn hops_to_first(&self, candidate: &Candidate<'_>, road: &Road) -> Option<usize> {
        let hops = self.kept(candidate).map(|follower| {
            let through = self.path_through(road, &follower).map(|path| path.len() - 1);
            (follower.began, through.unwrap_or(follower.hops))
        });
        hops.min().map(|(_, hops)| hops)
    }
}

/// Whether a change that lies `gap` before an anomaly is about as near as one that lies `least`
/// before it: at most 5 minutes or half as long again farther away.
fn is_about_as_near(gap: SignedDuration, least: SignedDuration) -> bool {
    gap <= least.saturating_add(ABOUT_AS_NEAR.max(least / 2))
}
