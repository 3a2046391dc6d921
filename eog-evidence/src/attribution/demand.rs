//! Demand that comes from outside: who asks for more than usual, and which entities that reaches.
//!
//! Load begins where no entity on record causes the sender to send more, such as at users, a load generator or a partner:
//! whatever is full further on is full of it. Load that rises somewhere within alone, as when calls are tried again,
//! does not come from outside.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use eog_core::evidence::{PeerRole, Signal};
use eog_core::incident::Onset;
use eog_core::{EntityId, Finding};

use super::burden::longest;
use super::{Attribution, Kept, notes};
use crate::onsets::level_onset;
use crate::paths::Travel;
use crate::series::Series;
use crate::shift::{Shift, find_shift, is_unit_of_shares, shift_of};
use crate::signs::{MORE, NEARLY_FULL, can_be_tried_again, in_requests, share_in_use};
use crate::stats::median;
use crate::ways::Number;

/// More demand that reaches an entity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Demand {
    /// Where it comes from.
    pub(super) source: EntityId,
    /// The entity that passes it on.
    pub(super) by: EntityId,
    /// How many times the usual the source sends.
    pub(super) sent: f64,
    /// How many times the usual the entity is asked.
    pub(super) asked: f64,
    /// Since when the source sends more.
    pub(super) onset: Option<Onset>,
    /// When more is asked of the entity.
    pub(super) shift: Shift,
}

impl Attribution<'_> {
    /// A note on demand from outside that reaches the entity, or that it sends.
    pub(super) fn demand(&self, entity: &EntityId) -> Option<Finding> {
        let demands = self.demands();
        if let Some(demand) = demands.get(entity) {
            return Some(notes::of_demand(entity, demand));
        }
        let (to, sent) = demands.iter().find(|(_, demand)| demand.by == *entity)?;
        (sent.source == *entity).then(|| notes::of_demand_sent(to, sent))
    }

    /// Demand from outside, by the entities it reaches.
    fn demands(&self) -> Arc<BTreeMap<EntityId, Demand>> {
        let find = |kept: &Kept| kept.demands.clone();
        let draw_up = || Arc::new(self.draw_up_demands());
        self.books.or_else(&self.periods, find, draw_up, |kept, demands| {
            kept.demands = Some(demands);
        })
    }

    fn draw_up_demands(&self) -> BTreeMap<EntityId, Demand> {
        let mut reached: BTreeMap<Number, Demand> = BTreeMap::new();
        let mut queue = VecDeque::new();
        for (number, source) in (0..).zip(self.ways.names()) {
            let has_callers = self.ways.lanes(Travel::Demand).back.of(number).next().is_some();
            if has_callers || self.upstream(number).next().is_some() {
                continue;
            }
            for entry in self.callees_of(number) {
                let demand = self.ways.name(entry).and_then(|name| self.enters(source, name));
                if let (Some(demand), Entry::Vacant(slot)) = (demand, reached.entry(entry)) {
                    slot.insert(demand);
                    queue.push_back(entry);
                }
            }
        }
        while let Some(caller) = queue.pop_front() {
            let (Some(by), Some(from)) = (self.ways.name(caller), reached.get(&caller).cloned())
            else {
                continue;
            };
            let called: Vec<Number> = self.callees_of(caller).chain(self.fed_by(caller)).collect();
            for callee in called {
                let Entry::Vacant(slot) = reached.entry(callee) else { continue };
                let Some(name) = self.ways.name(callee) else { continue };
                let Some((shift, onset, asked)) = self.asked_more(name, by) else { continue };
                let is_earlier = matches!((onset, from.onset), (Some(own), Some(from)) if !from.can_precede(&own));
                if !is_earlier {
                    slot.insert(Demand { by: by.clone(), asked, shift, ..from.clone() });
                    queue.push_back(callee);
                }
            }
        }
        let is_borne = self.bearing(&reached);
        reached.retain(|_, demand| !is_borne.contains(&demand.source));
        let named = reached
            .into_iter()
            .filter_map(|(number, demand)| Some((self.ways.name(number)?.clone(), demand)));
        named.collect()
    }

    /// The entities to which an entity passes on its work without a call, such as the next step of a job.
    fn fed_by(&self, entity: Number) -> impl Iterator<Item = Number> {
        let callers: BTreeSet<Number> = self.ways.lanes(Travel::Demand).back.of(entity).collect();
        self.ways.lanes(Travel::Effects).onward.of(entity).filter(move |to| !callers.contains(to))
    }

    /// Sources of what is borne: how full the resources of the entities it reaches are is measured, and none is nearly full.
    /// An entity that works in runs may be as full at work as usual: more work takes it longer.
    fn bearing(&self, reached: &BTreeMap<Number, Demand>) -> BTreeSet<EntityId> {
        let mut full: BTreeMap<&EntityId, bool> = BTreeMap::new();
        for (number, demand) in reached {
            let Some(name) = self.ways.name(*number) else { continue };
            let Some(measured) = (self.measured)(name) else { continue };
            let traffic = self.own(name, Signal::Traffic);
            let in_runs = traffic.is_some_and(|traffic| traffic.work(&self.periods).is_some());
            for series in measured.series {
                if share_in_use(series.signal, &series.unit, 0.0).is_none() {
                    continue;
                }
                let shift = find_shift(&series.points, &series.unit, &self.periods);
                let level = || {
                    let incident = self.periods.cut(&series.points).filter(|_| in_runs)?.incident;
                    median(incident.into_iter().map(|(_, value)| value))
                };
                let now = shift.map(|shift| shift.observed).or_else(level);
                let now = now.and_then(|now| share_in_use(series.signal, &series.unit, now));
                *full.entry(&demand.source).or_default() |=
                    now.is_some_and(|now| now >= NEARLY_FULL);
            }
        }
        full.into_iter().filter(|(_, is_full)| !is_full).map(|(source, _)| source.clone()).collect()
    }

    /// What a source sends more than usual to an entity.
    fn enters(&self, source: &EntityId, entity: &EntityId) -> Option<Demand> {
        let sent = self.asked_by(source, entity).or_else(|| {
            self.own(entity, Signal::Traffic).filter(|_| self.is_asked_by_one(entity))
        })?;
        let (shift, onset, times) = self.more(sent)?;
        if self.may_be_tried_again(entity, sent, &shift, onset) {
            return None;
        }
        let (source, by) = (source.clone(), source.clone());
        Some(Demand { source, by, sent: times, asked: times, onset, shift })
    }

    /// What one entity asks of another, as either of them measured.
    fn asked_by(&self, from: &EntityId, to: &EntityId) -> Option<&Series> {
        let of_pair = |measured: &EntityId, peer: &EntityId, role: PeerRole| {
            let named = |series: &&Series| {
                let other = series.peer.as_ref();
                series.signal == Signal::Traffic
                    && other.is_some_and(|other| other.entity == *peer && other.role == role)
            };
            longest((self.measured)(measured)?.series.into_iter().filter(named))
        };
        of_pair(to, from, PeerRole::Caller).or_else(|| of_pair(from, to, PeerRole::Callee))
    }

    /// How much more than usual is asked of an entity: by all, or, where it does not measure that, by one.
    fn asked_more(&self, entity: &EntityId, by: &EntityId) -> Option<(Shift, Option<Onset>, f64)> {
        self.more(self.own(entity, Signal::Traffic).or_else(|| self.asked_by(by, entity))?)
    }

    /// Whether there is one caller: what is asked of the entity is what that sends.
    fn is_asked_by_one(&self, entity: &EntityId) -> bool {
        let number = self.ways.number(entity);
        number.is_some_and(|number| self.ways.lanes(Travel::Demand).back.of(number).count() == 1)
    }

    fn more(&self, traffic: &Series) -> Option<(Shift, Option<Onset>, f64)> {
        let runs = traffic.by_run(&self.periods);
        let traffic = runs.as_ref().unwrap_or(traffic);
        let shift = shift_of(traffic, &self.periods)?;
        // Where nothing is usually sent, no factor can be given.
        let times = shift.observed / Some(shift.baseline).filter(|usual| *usual > 0.0)?;
        let onset = level_onset(&traffic.points, &shift);
        (times >= MORE).then_some((shift, onset, times))
    }

    /// Whether what is sent more can be calls that are tried again: no more than fail, and not surely before they fail.
    /// What comes in runs is tried again by run.
    fn may_be_tried_again(
        &self,
        entity: &EntityId,
        traffic: &Series,
        sent: &Shift,
        onset: Option<Onset>,
    ) -> bool {
        let Some(failed) = self.own(entity, Signal::Errors) else { return false };
        let runs = traffic.by_run(&self.periods);
        let by_run = runs
            .as_ref()
            .filter(|_| !is_unit_of_shares(&failed.unit))
            .map(|runs| failed.summed_from(runs.points.iter().map(|(begin, _)| *begin)));
        let failed = by_run.as_ref().unwrap_or(failed);
        let Some(failing) = shift_of(failed, &self.periods) else { return false };
        let came_before = matches!((onset, level_onset(&failed.points, &failing)), (Some(sent), Some(failing)) if !failing.can_precede(&sent));
        let more = sent.observed - sent.baseline;
        let fails = in_requests(&failed.unit, failing.observed - failing.baseline, sent.observed);
        can_be_tried_again(sent.observed, sent.baseline) && fails >= more && !came_before
    }

    /// The series of an entity's own that says most of a signal.
    fn own(&self, entity: &EntityId, signal: Signal) -> Option<&Series> {
        let measured = (self.measured)(entity)?;
        longest(
            measured
                .series
                .into_iter()
                .filter(|series| series.peer.is_none() && series.signal == signal),
        )
    }
}
