//! How much of what one entity shows its upstream neighbours account for.
//!
//! A z-score says how unusual a series is, not where the trouble lies: a caller of a slow callee is
//! as unusual as the callee. Bookkeeping distinguishes them. Time spent and requests failed
//! add up along calls, so what a callee has too much of is contained in what its caller has too
//! much of; the part that no upstream neighbour accounts for is the entity's own.
//!
//! - *Accounts* ([`burden`]): for alerts about latency, errors or availability, where such series
//!   are measured. The burden of a step is calls × (latency − usual latency), or failed requests
//!   beyond the usual number.
//! - *Early deviations* ([`deviation`]): where nothing adds up (states, switches, levels), what an entity first did
//!   that it does not usually do, if that was before any alert on it.

mod accounts;
mod asked;
mod burden;
mod crowding;
mod demand;
mod deviation;
mod endings;
mod held_up;
mod left_out;
mod lost_spans;
mod notes;
mod part;
mod replicas;
mod sent;
mod shared;
mod standalone;
#[cfg(test)]
mod tests;
mod traced;

mod trouble;
mod unanswered;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use eog_core::evidence::Signal;
use eog_core::{Anomaly, EntityId, Finding, Timestamp};

use crate::events::EventRecord;
use crate::paths::Travel;
use crate::self_time::{self, Calls};
use crate::series::{Periods, Series};
use crate::ways::{Number, Ways};
use asked::CallsAsSeen;
use burden::{Account, Burden, Weight};
use demand::Demand;
use deviation::Deviation;
use held_up::HeldUp;
use replicas::Spread;
pub use standalone::{Accounts, FoundSoFar, Measurements};
use trouble::Spot;

/// At most this many neighbours are named, those that account for most first.
const MAX_NAMED: usize = 8;

/// An entity that has less than a tenth of what is bad is not involved, and is not named.
const MINOR: f64 = 0.1;

/// What adds up along the relations of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Time spent on requests.
    Time,
    /// Requests that failed.
    Failures,
}

impl Kind {
    /// The account that an alert speaks of, if it speaks of one.
    fn of(signal: Signal) -> Option<Self> {
        match signal {
            Signal::Latency => Some(Self::Time),
            Signal::Errors | Signal::Availability => Some(Self::Failures),
            _ => None,
        }
    }

    /// What is counted of traced requests on this account.
    fn counted(self) -> self_time::Counted {
        match self {
            Self::Time => self_time::Counted::Time,
            Self::Failures => self_time::Counted::Failures,
        }
    }

    /// The signal of notes and findings on this account.
    fn signal(self) -> Signal {
        match self {
            Self::Time => Signal::Latency,
            Self::Failures => Signal::Errors,
        }
    }
}

/// The telemetry of one entity that attribution uses.
#[derive(Clone, Default)]
pub(crate) struct Measured<'a> {
    pub(crate) series: Vec<&'a Series>,
    pub(crate) events: &'a [EventRecord],
}

/// What is asked about an incident: which accounts its alerts speak of and are kept in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    kinds: BTreeSet<Kind>,
    /// Whether no alert speaks of an account, and those that are kept are drawn up nevertheless.
    is_implied: bool,
    /// Whether most of what is measured is recorded when it changes.
    by_change: bool,
}

impl Asked {
    /// The accounts of these alerts that can be drawn up: entities other than the alerting ones
    /// are measured on them. None: order is asked for.
    ///
    /// Where little but signal `other` is recorded, a record of the alarms alone makes no account;
    /// elsewhere it does, and order is not asked for. Where alerts speak of other things alone, such as a queue
    /// that grows, time and failures of measured entities may still have led to it, if there are calls
    /// (`has_calls`) along which they add up.
    pub(crate) fn new<'a>(
        anomalies: &[Anomaly],
        series: impl Iterator<Item = &'a Series>,
        has_calls: bool,
    ) -> Self {
        let wanted: BTreeSet<Kind> =
            anomalies.iter().filter_map(|alert| Kind::of(alert.signal)).collect();
        let is_implied = wanted.is_empty() && has_calls;
        let alerting: BTreeSet<&EntityId> = anomalies.iter().map(|alert| &alert.entity).collect();
        let (mut kinds, mut of_others) = (BTreeSet::new(), BTreeSet::new());
        let (mut all, mut unspecific, mut uneven) = (0_usize, 0_usize, 0_usize);
        for series in series {
            all += 1;
            unspecific += usize::from(deviation::is_unspecific(series.signal));
            uneven += usize::from(deviation::is_uneven(&series.points));
            let is_wanted = |kind: &Kind| is_implied || wanted.contains(kind);
            if let Some(kind) = burden::kind_of(series).filter(is_wanted) {
                kinds.insert(kind);
                if !alerting.contains(&series.entity) {
                    of_others.insert(kind);
                }
            }
        }
        // What is recorded when it changes is a state, whatever it speaks of: nothing adds up.
        let by_change = 2 * uneven > all;
        let kinds = match (by_change, 2 * unspecific > all) {
            (true, _) => BTreeSet::new(),
            (false, true) => of_others,
            (false, false) => kinds,
        };
        Self { kinds, is_implied, by_change }
    }

    /// Also the accounts of these alerts that are kept of traced requests. Where failures that alerts speak of are not
    /// counted, time by traces may still have led to them.
    pub(crate) fn with_traced(mut self, anomalies: &[Anomaly], calls: &Calls) -> Self {
        let wanted = || anomalies.iter().filter_map(|alert| Kind::of(alert.signal));
        self.kinds.extend(wanted().filter(|kind| calls.can_count(kind.counted())));
        let is_traced = calls.can_count(Kind::Time.counted());
        if self.kinds.is_empty() && is_traced && wanted().next().is_some() && !self.by_change {
            (self.kinds, self.is_implied) = ([Kind::Time].into(), true);
        }
        self
    }
}

/// What was worked out already: the accounts of an entity are asked for by all its neighbours.
#[derive(Debug, Default)]
pub(crate) struct Books(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// What the rest was worked out for.
    periods: Option<Periods>,
    controls: BTreeMap<Kind, Option<Timestamp>>,
    accounts: BTreeMap<(EntityId, Kind, Weight), Account>,
    deviations: BTreeMap<EntityId, Option<Deviation>>,
    traced: Option<traced::TracedBooks>,
    seen: BTreeMap<Kind, Arc<CallsAsSeen>>,
    loses_spans: BTreeMap<EntityId, bool>,
    held_up: BTreeMap<EntityId, Option<HeldUp>>,
    unanswered: BTreeMap<EntityId, Option<Burden>>,
    cleared: BTreeMap<EntityId, bool>,
    demands: Option<Arc<BTreeMap<EntityId, Demand>>>,
    spreads: BTreeMap<(Number, Kind), Option<Spread>>,
    behind_the_well: BTreeMap<(Number, Kind), Arc<BTreeSet<Number>>>,
    spots: Option<Arc<BTreeMap<EntityId, Spot>>>,
}

impl Books {
    /// What is kept, or what is worked out now and kept. Working out does not read the books.
    fn or_else<T: Clone>(
        &self,
        periods: &Periods,
        find: impl Fn(&Kept) -> Option<T>,
        work_out: impl FnOnce() -> T,
        keep: impl FnOnce(&mut Kept, T),
    ) -> T {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.periods.as_ref() != Some(periods) {
            *kept = Kept { periods: Some(periods.clone()), ..Kept::default() };
        }
        if let Some(found) = find(&kept) {
            return found;
        }
        drop(kept);
        let made = work_out();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.periods.as_ref() == Some(periods) {
            keep(&mut kept, made.clone());
        }
        made
    }
}

/// The names of what holds the records.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// What was measured.
    pub metrics: &'a str,
    /// What happened.
    pub events: &'a str,
    /// The spans.
    pub traces: &'a str,
}

impl Sources<'static> {
    /// Those of a bundle.
    pub(crate) const BUNDLE: Self =
        Self { metrics: "metrics.csv", events: "events.csv", traces: "spans.csv" };
}

/// Attribution within one incident.
pub(crate) struct Attribution<'a> {
    pub(crate) ways: &'a Ways,
    pub(crate) anomalies: &'a [Anomaly],
    pub(crate) periods: Periods,
    pub(crate) asked: &'a Asked,
    /// The telemetry of an entity; nothing when there is none at all.
    pub(crate) measured: &'a dyn Fn(&EntityId) -> Option<Measured<'a>>,
    /// Whether calls of one entity to another are recorded to fail, in lines or spans.
    pub(crate) calls_fail: &'a dyn Fn(&EntityId, &EntityId) -> bool,
    pub(crate) books: &'a Books,
    /// Where the error lines of requests begin, by who wrote them.
    pub(crate) joined: &'a BTreeMap<EntityId, Vec<Finding>>,
    /// Traced calls, if there are any.
    pub(crate) calls: Option<&'a Calls>,
    /// What findings name as their sources.
    pub(crate) sources: Sources<'a>,
}

impl Attribution<'_> {
    /// What an entity shows in the sense of the alerts and who accounts for it: its own finding,
    /// one note for each neighbour that stands out with the share that it accounts for, and one for
    /// the remainder. Nothing when no part of it is known. A share of nothing is noted too: that
    /// a neighbour does worse does not make it the cause.
    ///
    /// The note on the remainder is given only when the entity's own deviation stands out from its
    /// baseline and, on an account, every upstream neighbour is measured: what is not measured may
    /// hold the remainder.
    pub(crate) fn findings(&self, entity: &EntityId) -> Vec<Finding> {
        if self.anomalies.is_empty() {
            return Vec::new();
        }
        if self.asked.kinds.is_empty() {
            return self.early_deviation(entity).into_iter().collect();
        }
        let kinds = self.asked.kinds.iter();
        let mut findings: Vec<Finding> =
            kinds.flat_map(|kind| self.by_account(entity, *kind)).collect();
        findings.extend(self.courses(entity));
        findings.extend(self.attempts(entity));
        findings.extend(self.parts(entity));
        findings.extend(self.sent(entity));
        findings.extend(self.demand(entity));
        findings.extend(self.left_out(entity));
        findings.extend(self.endings(entity));
        findings.extend(self.crowding(entity));
        findings.extend(self.holds_up(entity));
        findings.extend(self.worst_upstream(entity));
        findings
    }

    /// What an entity first did that it does not usually do, if that was before any alert on it. What begins with an alert
    /// is the alert, not what led to it.
    fn early_deviation(&self, entity: &EntityId) -> Option<Finding> {
        let own = self.deviation(entity)?;
        let alerts = self.anomalies.iter().filter(|alert| alert.entity == *entity);
        let is_early = alerts.map(|alert| alert.onset).min().is_none_or(|alert| own.onset < alert);
        is_early.then(|| notes::of_deviation(entity, &own))
    }

    fn deviation(&self, entity: &EntityId) -> Option<Deviation> {
        let measured = (self.measured)(entity)?;
        let work_out = || {
            let last = self.anomalies.iter().flat_map(Anomaly::onsets).max()?;
            deviation::earliest(&measured, &self.periods, last)
        };
        let find = |kept: &Kept| kept.deviations.get(entity).cloned();
        self.books.or_else(&self.periods, find, work_out, |kept, deviation| {
            kept.deviations.insert(entity.clone(), deviation);
        })
    }

    fn callees_of(&self, entity: Number) -> impl Iterator<Item = Number> {
        self.ways.lanes(Travel::Demand).onward.of(entity)
    }

    /// Neighbours that effects come from, by name, each once.
    fn upstream(&self, entity: Number) -> impl Iterator<Item = Number> {
        self.ways.lanes(Travel::Effects).back.of(entity)
    }
}
