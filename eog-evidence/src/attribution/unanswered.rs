//! Requests that no longer arrive: those rejected on the way are counted only by their senders.
//!
//! A certificate that expired, a port that is closed, a name that leads nowhere: callers fail, and their callees
//! measure less traffic and no failure. That less arrives where callers fail is no proof: who fails
//! before it calls sends less as well. It takes a second sign: several callers that share nothing but this
//! callee, a record of calls that failed, or siblings at which as much arrives as usual.

use std::collections::BTreeSet;

use eog_core::evidence::{Signal, Trend};
use eog_core::{EntityId, Timestamp};

use super::burden::{self, Account, Burden, Weight, longest};
use super::{Attribution, Kind, Measured};
use crate::paths::Travel;
use crate::series::Series;
use crate::shift::find_shift;
use crate::stats::median;

/// Most of what usually arrives is missing.
const MOST: f64 = 0.5;

/// As many callers share what they call, and not what they do.
const CALLERS: usize = 2;

impl Attribution<'_> {
    /// The requests that no longer arrive at an entity, as failures of their senders.
    pub(super) fn unanswered(&self, entity: &EntityId) -> Option<Burden> {
        let find = |kept: &super::Kept| kept.unanswered.get(entity).cloned();
        let work_out = || {
            let missing = self.missing(entity)?;
            self.is_turned_away(entity).then_some(missing)
        };
        self.books.or_else(&self.periods, find, work_out, |kept, found| {
            kept.unanswered.insert(entity.clone(), found);
        })
    }

    /// What is missing of the usual traffic of an entity, where that is most of it.
    fn missing(&self, entity: &EntityId) -> Option<Burden> {
        let traffic = self.traffic(entity)?;
        let shift = find_shift(&traffic.points, &traffic.unit, &self.periods)?;
        let control = self.control_end(Kind::Failures);
        // More may have come just before than ever in the baseline: that is missing, too.
        let before = |at: Timestamp| {
            self.periods.window.contains(at) && control.is_some_and(|control| at < control)
        };
        let before = traffic.points.iter().filter(|(at, _)| before(*at)).map(|(_, value)| *value);
        let usual = median(before).map_or(shift.baseline, |before| before.max(shift.baseline));
        if shift.trend() != Trend::Falling || shift.observed >= MOST * usual {
            return None;
        }
        let missing = traffic.points.iter().map(|(at, value)| {
            let usual = if self.periods.window.contains(*at) { usual } else { shift.baseline };
            (*at, (usual - value).max(0.0))
        });
        let series = Series {
            metric: "requests that no longer arrive".into(),
            signal: Signal::Errors,
            unit: "requests".into(),
            points: missing.collect(),
            ..traffic.clone()
        };
        let measured = Measured { series: vec![&series], events: &[] };
        match burden::account(&measured, Kind::Failures, Weight::Calls, &self.periods, control) {
            Account::Burden(burden) if burden.stands_out() => Some(burden),
            _ => None,
        }
    }

    fn traffic(&self, entity: &EntityId) -> Option<&Series> {
        let measured = (self.measured)(entity)?;
        let own = measured.series.iter().copied();
        longest(own.filter(|one| one.signal == Signal::Traffic && one.peer.is_none()))
    }

    /// Whether there is a second sign that what does not arrive was sent.
    fn is_turned_away(&self, entity: &EntityId) -> bool {
        self.siblings_are_asked(entity) || self.callers_fail(entity)
    }

    /// Whether as much arrives as usual at most of those that share the same work.
    fn siblings_are_asked(&self, entity: &EntityId) -> bool {
        let others = self.siblings(entity).into_iter().filter(|other| *other != entity);
        let falls: Vec<bool> = others
            .filter_map(|other| self.traffic(other))
            .map(|traffic| {
                find_shift(&traffic.points, &traffic.unit, &self.periods)
                    .is_some_and(|shift| shift.trend() == Trend::Falling)
            })
            .collect();
        !falls.is_empty() && 2 * falls.iter().filter(|falls| **falls).count() < falls.len()
    }

    /// Whether several callers fail that share nothing else, or calls of one are recorded to fail.
    fn callers_fail(&self, entity: &EntityId) -> bool {
        let Some(number) = self.ways.number(entity) else { return false };
        let callers = self.ways.lanes(Travel::Demand).back.of(number);
        let callers = callers.filter_map(|one| self.ways.name(one));
        let failing = callers.filter(|caller| {
            let account = self.own_account(caller, Kind::Failures, Weight::Calls);
            matches!(account, Account::Burden(burden) if burden.stands_out())
        });
        let failing: Vec<&EntityId> = failing.collect();
        if failing.iter().any(|caller| (self.calls_fail)(caller, entity)) {
            return true;
        }
        // Replicas do the same, and may fail alike by themselves.
        let mut apart = BTreeSet::new();
        for caller in &failing {
            let siblings = self.siblings(caller);
            apart.insert(siblings.first().copied().unwrap_or(caller));
        }
        apart.len() >= CALLERS
    }
}
