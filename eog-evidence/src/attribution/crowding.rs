//! Crowding: which of all that rest on one entity uses its resource up.
//!
//! Effects travel from a machine to what runs on it, so no edge leads back from one of these to the machine.
//! But the use of a shared resource rises with that of the entity that takes it, and with
//! that of no other.

use eog_core::evidence::{EvidenceTime, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{EntityId, Finding, Timestamp};

use super::burden::longest;
use super::{Attribution, notes};
use crate::onsets::level_onset;
use crate::paths::Travel;
use crate::series::Series;
use crate::shift::{Shift, during, find_shift};
use crate::signs::{BUSY, MAJORITY, NEARLY_FULL, share_in_use};
use crate::stats::median;
use crate::ways::Number;

/// How the use of a resource rose, as shares of the whole.
#[derive(Clone, Debug)]
pub(super) struct Rise {
    pub(super) metric: String,
    pub(super) usual: f64,
    pub(super) now: f64,
    pub(super) onset: Onset,
    /// The first sample with half of the rise, and its time.
    half_way: (Timestamp, f64),
}

/// An entity that takes what others need, and the entities it takes it from.
#[derive(Clone, Debug)]
pub(super) struct Crowding {
    pub(super) host: EntityId,
    pub(super) hosts: Rise,
    pub(super) taker: EntityId,
    pub(super) takers: Rise,
    /// The part of what all that rest on the host use more.
    pub(super) part: f64,
}

impl Attribution<'_> {
    /// A note on the entity that takes up what another has for all that rest on it, and one on each entity
    /// that this one takes up so.
    pub(super) fn crowding(&self, entity: &EntityId) -> Vec<Finding> {
        let Some(number) = self.ways.number(entity) else { return Vec::new() };
        let note = |one: &Crowding| notes::of_crowding(entity, one, self.time_of(one));
        let here = self.crowded_by(number).map(|one| note(&one));
        let hosts = self.upstream(number).filter(|host| self.only_rests_on(number, *host));
        let elsewhere = hosts.filter_map(|host| self.crowded_by(host));
        let elsewhere = elsewhere.filter(|one| one.taker == *entity);
        let elsewhere: Vec<Finding> = elsewhere.map(|one| note(&one)).collect();
        here.into_iter().chain(elsewhere).collect()
    }

    fn time_of(&self, one: &Crowding) -> EvidenceTime {
        let from = one.hosts.onset.earliest().max(self.periods.window.start());
        during(from, self.periods.window.end())
    }

    /// Whether effects come from the one to the other, and neither calls the other.
    fn only_rests_on(&self, entity: Number, host: Number) -> bool {
        let demand = self.ways.lanes(Travel::Demand);
        let mut of = demand.onward.of(entity).chain(demand.back.of(entity));
        !of.any(|other| other == host)
    }

    /// The entity that takes up the resource of another, if one alone does.
    fn crowded_by(&self, host: Number) -> Option<Crowding> {
        let name = self.ways.name(host)?;
        // What one of several processors does is a part of what all do.
        let hosts = self.rise(name, None).filter(|rise| rise.now >= BUSY)?;
        let onward = self.ways.lanes(Travel::Effects).onward.of(host);
        let guests: Vec<Number> = onward.filter(|one| self.only_rests_on(*one, host)).collect();
        if guests.len() < 2 {
            return None;
        }
        let rises = guests.into_iter().filter_map(|guest| {
            let guest = self.ways.name(guest)?;
            let rise = self.rise(guest, Some(&hosts.metric)).filter(|rise| rise.is_with(&hosts))?;
            Some((guest, rise))
        });
        let rises: Vec<(&EntityId, Rise)> = rises.collect();
        let all: f64 = rises.iter().map(|(_, rise)| rise.more()).sum();
        let (taker, takers) = rises.into_iter().max_by(|a, b| a.1.more().total_cmp(&b.1.more()))?;
        let part = takers.more() / all;
        let is_taken =
            takers.now >= NEARLY_FULL && part >= MAJORITY && self.by_itself(taker, &takers);
        is_taken.then(|| Crowding { host: name.clone(), hosts, taker: taker.clone(), takers, part })
    }

    /// The resource of an entity of which most more is used now: the one of this name, if one is given.
    /// What waits fills other resources, so that only like is compared with like.
    fn rise(&self, entity: &EntityId, metric: Option<&str>) -> Option<Rise> {
        let measured = (self.measured)(entity)?;
        let is_like = |series: &&&Series| metric.is_none_or(|metric| series.metric == metric);
        let rises = measured.series.iter().filter(is_like).filter_map(|series| {
            let share = |value| share_in_use(series.signal, &series.unit, value);
            // The unit is asked for first: most series are none of a share.
            share(0.0).filter(|_| series.peer.is_none())?;
            let shift = find_shift(&series.points, &series.unit, &self.periods)?;
            if shift.trend() != Trend::Rising {
                return None;
            }
            let onset = level_onset(&series.points, &shift).unwrap_or(Onset::at(shift.onset()));
            let (usual, now) = (share(shift.baseline)?, share(shift.observed)?);
            let (half_at, half) = half_way(&series.points, &shift)?;
            let half_way = (half_at, share(half)?);
            Some(Rise { metric: series.metric.clone(), usual, now, onset, half_way })
        });
        rises.max_by(|a, b| a.more().total_cmp(&b.more()).then_with(|| b.metric.cmp(&a.metric)))
    }

    /// Whether requests do not account for most of a rise: by those that came when it was half-way. What comes later is
    /// asked again by those who had no answer, which is its effect.
    fn by_itself(&self, entity: &EntityId, rise: &Rise) -> bool {
        let (at, used) = rise.half_way;
        let expected = rise.usual * self.requests_grew(entity, at).max(1.0);
        used - expected >= MAJORITY * (used - rise.usual)
    }

    /// How many times its usual traffic an entity had at an instant; 1 where that is not measured.
    fn requests_grew(&self, entity: &EntityId, at: Timestamp) -> f64 {
        let grew = || {
            let measured = (self.measured)(entity)?;
            let own = measured.series.iter().copied().filter(|series| series.peer.is_none());
            let traffic = longest(own.filter(|series| series.signal == Signal::Traffic))?;
            let parts = self.periods.cut(&traffic.points)?;
            let usual = median(parts.baseline.iter().map(|(_, value)| *value))?;
            let (_, then) = parts.incident.into_iter().find(|(time, _)| *time >= at)?;
            (usual > 0.0).then_some(then / usual)
        };
        grew().unwrap_or(1.0)
    }
}

/// The first sample of a shift that has half of its height, with its time.
fn half_way(points: &[(Timestamp, f64)], shift: &Shift) -> Option<(Timestamp, f64)> {
    let half = shift.baseline + (shift.observed - shift.baseline) * 0.5;
    points.iter().copied().find(|(at, value)| *at >= shift.onset() && *value >= half)
}

impl Rise {
    fn more(&self) -> f64 {
        self.now - self.usual
    }

    /// Whether one was under way when the other was: each from when it can have begun until it was half-way. What
    /// comes and goes over the day may seem to begin long before.
    fn is_with(&self, other: &Self) -> bool {
        self.onset.earliest() <= other.half_way.0 && other.onset.earliest() <= self.half_way.0
    }
}
