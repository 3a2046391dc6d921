//! Entities that are held up by a call: slow calls that fill up what holds the requests of their caller.
//!
//! A pool, or threads, of which each request holds one while it waits for its calls: what is in use is how many
//! requests come times how long each is held (Little's law). Calls that take longer can fill it up, and then requests
//! wait in front of it far longer than the calls take, or are refused. All of that is owed to the calls.

use eog_core::evidence::{Signal, Trend};
use eog_core::{EntityId, Finding, Timestamp};

use super::burden::{Account, Burden, Weight, longest};
use super::{Attribution, Kind, notes};
use crate::shift::{during, find_shift};
use crate::signs::{NEARLY_FULL, share_in_use};
use crate::text::shorten;

/// At most so many callers are named to one that holds them up.
const MAX_CALLERS: usize = 3;

/// An entity whose requests wait in front of a resource that calls to a callee fill up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeldUp {
    pub(super) callee: EntityId,
    /// How many times as long as usual the calls hold each request.
    pub(super) times: f64,
    /// When the calls were slow at the earliest, where that was measured.
    pub(super) since: Option<Timestamp>,
    pub(super) full: Full,
}

/// A resource of an entity of which nearly all is used, and was not before.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Full {
    pub(super) resource: String,
    /// The share of it that was in use, and that is.
    pub(super) usual: f64,
    pub(super) now: f64,
    /// From when it is full, to the end of the window.
    pub(super) time: (Timestamp, Timestamp),
}

/// Calls that hold each request of an entity longer.
struct Longer {
    callee: EntityId,
    times: f64,
    /// A step before they are known to be slow.
    since: Option<Timestamp>,
}

impl Attribution<'_> {
    /// A note on each caller whose requests wait in front of what calls to this entity fill up.
    pub(super) fn holds_up(&self, entity: &EntityId) -> Vec<Finding> {
        let callers = self.ways.names().iter().filter(|name| *name != entity);
        let held = callers.filter_map(|name| Some((name, self.held_up(name)?)));
        let by_this = held.filter(|(_, held)| held.callee == *entity).take(MAX_CALLERS);
        by_this
            .map(|(caller, held)| {
                notes::of_holding_up(
                    entity,
                    caller,
                    &held,
                    during(held.full.time.0, held.full.time.1),
                )
            })
            .collect()
    }

    /// The callee whose slow calls fill up what holds the requests of an entity.
    pub(super) fn held_up_by(&self, entity: &EntityId) -> Option<EntityId> {
        self.held_up(entity).map(|held| held.callee)
    }

    pub(super) fn held_up(&self, entity: &EntityId) -> Option<HeldUp> {
        let find = |kept: &super::Kept| kept.held_up.get(entity).cloned();
        let work_out = || {
            // What is full is asked for first: it is seldom.
            let full = self.full(entity);
            if full.is_empty() {
                return None;
            }
            let Longer { callee, times, since } = self.held_longer(entity)?;
            let fills = |one: &Full| {
                one.usual * times >= NEARLY_FULL && since.is_none_or(|since| since <= one.time.0)
            };
            let full = full.into_iter().find(fills)?;
            // What fills up with more requests is full of these.
            if self.gets_more(entity).is_some_and(|at| at < full.time.0) {
                return None;
            }
            Some(HeldUp { callee, times, since, full })
        };
        self.books.or_else(&self.periods, find, work_out, |kept, found| {
            kept.held_up.insert(entity.clone(), found);
        })
    }

    /// Since when more is asked of an entity.
    fn gets_more(&self, entity: &EntityId) -> Option<Timestamp> {
        let measured = (self.measured)(entity)?;
        let own = measured.series.iter().copied();
        let own = own.filter(|one| one.signal == Signal::Traffic && one.peer.is_none());
        let requests = longest(own)?;
        let shift = find_shift(&requests.points, &requests.unit, &self.periods)?;
        (shift.trend() == Trend::Rising).then(|| shift.onset())
    }

    /// The resources of an entity of which nearly all is used, and was not before.
    fn full(&self, entity: &EntityId) -> Vec<Full> {
        let Some(measured) = (self.measured)(entity) else { return Vec::new() };
        let own = measured.series.iter().filter(|series| series.peer.is_none());
        let full = own.filter_map(|series| {
            // The unit is asked for first: most series are none of a share.
            share_in_use(series.signal, &series.unit, 0.0)?;
            let shift = find_shift(&series.points, &series.unit, &self.periods)?;
            let share = |value| share_in_use(Signal::Saturation, &series.unit, value);
            let (usual, now) = (share(shift.baseline)?, share(shift.observed)?);
            let is_full = shift.trend() == Trend::Rising && now >= NEARLY_FULL;
            is_full.then(|| Full {
                resource: shorten(&series.metric, 120),
                usual,
                now,
                time: (shift.onset(), self.periods.window.end()),
            })
        });
        full.collect()
    }

    /// The calls that hold each request of an entity longest beyond the usual.
    fn held_longer(&self, entity: &EntityId) -> Option<Longer> {
        let traced = self.traced_books(Kind::Time);
        let has_traces = self.traces_its_calls(entity) && !self.loses_calls(entity);
        if let Some(book) =
            traced.as_ref().filter(|_| has_traces).and_then(|books| books.get(entity))
        {
            let (callee, part) = book.callees.first().filter(|(_, part)| *part > 0.0)?;
            let times = 1.0 + part / book.usual.max(f64::MIN_POSITIVE);
            return Some(Longer { callee: callee.clone(), times, since: None });
        }
        let Account::Burden(own) = self.own_account(entity, Kind::Time, Weight::None) else {
            return None;
        };
        let seen = self.calls_as_seen(Kind::Time);
        let calls = seen.made_by(entity).filter(|(_, calls)| calls.unit == own.unit);
        let longer = |calls: &Burden| calls.observed - calls.usual;
        let (callee, calls) = calls.max_by(|a, b| longer(a.1).total_cmp(&longer(b.1)))?;
        // How many calls each request makes is not known.
        let times = 1.0 + longer(calls) / own.usual.max(f64::MIN_POSITIVE);
        let since = calls.onset().map(|at| at.checked_sub(calls.step()).unwrap_or(at));
        Some(Longer { callee: callee.clone(), times, since })
    }
}
