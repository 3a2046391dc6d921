//! How much of what one entity shows its upstream neighbours account for.
//!
//! A z-score says how unusual a series is, not where the trouble lies: a caller of a slow callee is
//! as unusual as the callee. What tells them apart is bookkeeping. Time spent and requests failed
//! add up along calls, so what a callee has too much of is contained in what its caller has too
//! much of; the part that no upstream neighbour accounts for is the entity's own.
//!
//! - *Accounts* ([`burden`]): for alerts about latency, errors or availability, where such series
//!   are measured. The burden of a step is calls × (latency − usual latency), or failed requests
//!   beyond the usual number.
//! - *Order* ([`deviation`]): where nothing adds up (states, switches, levels), what deviated first
//!   and has an effect path here accounts for what deviated later.

mod asked;
mod burden;
mod crowding;
mod deviation;
mod endings;
mod given;
mod held_up;
mod left_out;
mod lost_spans;
mod notes;
mod part;
mod replicas;
mod sent;
#[cfg(test)]
mod tests;
mod traced;
mod traces_alone;
mod trouble;
mod unanswered;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use eog_core::evidence::Signal;
use eog_core::{Anomaly, EntityId, Finding, Timestamp};
use jiff::SignedDuration;

use crate::events::EventRecord;
use crate::paths::{MAX_PATH_HOPS, Travel};
use crate::responses::{Judged, Track};
use crate::self_time::{self, Calls};
use crate::series::{Periods, Series};
use crate::shift::find_shift;
use crate::ways::{Number, Ways};
use asked::CallsAsSeen;
use burden::{Account, Burden, Weight};
use deviation::Deviation;
use held_up::HeldUp;
use notes::during_burden;
use replicas::Spread;
pub use traces_alone::TraceAccounts;
use trouble::Spot;

/// At most this many neighbours are named, those that account for most first.
const MAX_NAMED: usize = 8;

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

/// The telemetry of one entity that attribution looks at.
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
    /// The accounts of these alerts that can be drawn up: somebody else than the alerting entities
    /// is measured on them. None: order is asked for.
    ///
    /// Where little but signal `other` is recorded, a record of the alarms alone makes no account;
    /// elsewhere it does, and order is not asked for. Where alerts speak of other things alone, such as a queue
    /// that grows, time and failures of whoever is measured may still have led to it, if there are calls
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

    /// Also the accounts of these alerts that are kept of traced requests.
    pub(crate) fn with_traced(mut self, anomalies: &[Anomaly], calls: &Calls) -> Self {
        let wanted = anomalies.iter().filter_map(|alert| Kind::of(alert.signal));
        self.kinds.extend(wanted.filter(|kind| calls.tell(kind.counted())));
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
    traced: BTreeMap<Kind, Option<Arc<self_time::Books>>>,
    seen: BTreeMap<Kind, Arc<CallsAsSeen>>,
    loses_spans: BTreeMap<EntityId, bool>,
    held_up: BTreeMap<EntityId, Option<HeldUp>>,
    unanswered: BTreeMap<EntityId, Option<Burden>>,
    cleared: BTreeMap<EntityId, bool>,
    spots: Option<Arc<BTreeMap<EntityId, Spot>>>,
    tracks: BTreeMap<(Number, Timestamp), Arc<Vec<Track>>>,
    goes_on: BTreeMap<Timestamp, bool>,
    alarms_of: Option<Arc<BTreeMap<Number, usize>>>,
    judged: BTreeMap<(Number, Timestamp), Arc<Judged>>,
    has_laws: Option<bool>,
}

impl Books {
    /// What is kept, or what is worked out now and kept. Working out does not look into the books.
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
    /// Traced calls, if there are any.
    pub(crate) calls: Option<&'a Calls>,
    /// The name of what holds the spans.
    pub(crate) traces: &'a str,
}

impl Attribution<'_> {
    /// What an entity shows in the sense of the alerts and who accounts for it: its own finding,
    /// one note for each neighbour that stands out with the share that it accounts for, and one for
    /// the remainder. Nothing when no part of it can be told. A share of nothing is told too: that
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
            let given = if self.asked.by_change { self.by_departure(entity) } else { None };
            return given.unwrap_or_else(|| self.by_order(entity));
        }
        let kinds = self.asked.kinds.iter();
        let mut findings: Vec<Finding> =
            kinds.flat_map(|kind| self.by_account(entity, *kind)).collect();
        findings.extend(self.courses(entity));
        findings.extend(self.attempts(entity));
        findings.extend(self.parts(entity));
        findings.extend(self.sent(entity));
        findings.extend(self.left_out(entity));
        findings.extend(self.endings(entity));
        findings.extend(self.crowding(entity));
        findings.extend(self.holds_up(entity));
        findings.extend(self.trouble_upstream(entity));
        findings
    }

    fn by_account(&self, entity: &EntityId, kind: Kind) -> Vec<Finding> {
        if let Some(findings) = self.by_traced(entity, kind) {
            return findings;
        }
        let account = |entity: &EntityId, weight: Weight| self.account(entity, kind, weight);
        let Account::Burden(own) = account(entity, Weight::Calls) else { return Vec::new() };
        let alerting =
            self.anomalies.iter().any(|a| a.entity == *entity && Kind::of(a.signal) == Some(kind));
        let shown = own.total() > 0.0 && (own.stands_out() || alerting);
        let mut complete = true;
        let mut shares: Vec<(EntityId, f64, Burden)> = Vec::new();
        let start = self.ways.number(entity);
        let mut seen = BTreeSet::from_iter(start);
        let called: BTreeSet<Number> =
            start.into_iter().flat_map(|one| self.callees_of(one)).collect();
        let mut queue: VecDeque<(Number, usize)> =
            start.into_iter().flat_map(|start| self.upstream(start)).map(|one| (one, 1)).collect();
        // What all replicas wait for may account for more than any of them.
        let replicas: Vec<Number> =
            start.into_iter().flat_map(|start| self.replicas(start)).collect();
        let behind: Vec<Number> = replicas.iter().flat_map(|one| self.callees_of(*one)).collect();
        queue.extend(behind.into_iter().map(|one| (one, 2)));
        // Of what all replicas have alike none of them is the cause; of what few of them have, the whole is not.
        let are_alike = start.and_then(|start| self.spread(start, kind)) == Some(Spread::Alike);
        seen.extend(replicas.iter().filter(|_| are_alike));
        let wholes = self.wholes(entity, kind);
        let is_one_of_many = wholes.iter().any(|(_, spread)| *spread == Spread::Alike);
        seen.extend(wholes.iter().map(|(whole, _)| whole));
        let is_in_trouble = own.stands_out();
        seen.extend(self.shared_with_the_well(entity, kind).into_iter().filter(|_| is_in_trouble));
        while let Some((number, hops)) = queue.pop_front() {
            let Some(neighbour) = self.ways.name(number).filter(|_| seen.insert(number)) else {
                continue;
            };
            let by_calls = self.share_by_calls(entity, neighbour, kind).or_else(|| {
                are_alike.then(|| self.share_by_replicas(&replicas, neighbour, kind))?
            });
            let by_calls = by_calls.map(|(share, calls)| (if shown { share } else { 0.0 }, calls));
            let theirs = match account(neighbour, Weight::Calls) {
                Account::Burden(theirs) => theirs,
                Account::Usual => {
                    shares.extend(by_calls.map(|(share, calls)| (neighbour.clone(), share, calls)));
                    continue;
                }
                // What is not measured passes on what it is given.
                Account::Unknown => {
                    if let Some((share, calls)) = by_calls {
                        shares.push((neighbour.clone(), share, calls));
                        continue;
                    }
                    // What it rests on and does not call, such as a node, is on no account.
                    let is_known = !called.contains(&number) && self.is_as_usual(neighbour);
                    complete &= is_known;
                    if !is_known && hops < MAX_PATH_HOPS {
                        queue.extend(self.upstream(number).map(|further| (further, hops + 1)));
                    }
                    continue;
                }
            };
            if !theirs.stands_out() {
                shares.extend(by_calls.map(|(share, calls)| (neighbour.clone(), share, calls)));
                continue;
            }
            // Only like is compared with like: both per call, when the calls of one are unknown.
            let share = if !shown || own.precedes(&theirs) {
                0.0
            } else if theirs.weight == own.weight {
                own.share_of(&theirs)
            } else {
                match (account(entity, Weight::None), account(neighbour, Weight::None)) {
                    (Account::Burden(own), Account::Burden(theirs)) => own.share_of(&theirs),
                    _ => 0.0,
                }
            };
            let by_calls = by_calls.filter(|(by_calls, _)| *by_calls > share);
            let (share, theirs) = by_calls.unwrap_or((share, theirs));
            shares.push((neighbour.clone(), share, theirs));
        }
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        shares.truncate(MAX_NAMED);
        let remainder =
            own.stands_out() && complete && !is_one_of_many && self.held_up_by(entity).is_none();
        let told = if own.stands_out() { wholes.as_slice() } else { &[] };
        if shares.is_empty() && !remainder && told.is_empty() {
            return Vec::new();
        }
        let mut findings = notes::of_account(entity, kind, &own, shown, &shares, remainder);
        // What replicas have of somebody else the whole has, too.
        self.add_wholes(&mut findings, entity, kind, (told, 1.0), during_burden(&own));
        if !shown {
            findings.extend(self.slow_calls(entity, kind, &own));
        }
        findings
    }

    /// Whether an entity is measured, and all that is measured is as usual.
    fn is_as_usual(&self, entity: &EntityId) -> bool {
        let Some(measured) = (self.measured)(entity).filter(|one| !one.series.is_empty()) else {
            return false;
        };
        let is_worse = |event: &EventRecord| {
            self.periods.window.contains(event.time) && event.signal != Signal::Other
        };
        let shifted =
            |series: &&Series| find_shift(&series.points, &series.unit, &self.periods).is_some();
        !measured.series.iter().any(shifted) && !measured.events.iter().any(is_worse)
    }

    /// What is known of an entity: by its own measurements or, where these are as usual, by those of its
    /// callers.
    fn account(&self, entity: &EntityId, kind: Kind, weight: Weight) -> Account {
        let own = self.own_account(entity, kind, weight);
        if matches!(&own, Account::Burden(burden) if burden.stands_out()) {
            return own;
        }
        let unanswered = || self.unanswered(entity).filter(|_| kind == Kind::Failures);
        match (self.seen_by_callers(entity, kind).or_else(unanswered), own) {
            (Some(seen), _) => Account::Burden(seen),
            (None, Account::Unknown) if self.is_seen_as_usual(entity, kind) => Account::Usual,
            (None, own) => own,
        }
    }

    fn own_account(&self, entity: &EntityId, kind: Kind, weight: Weight) -> Account {
        // Of very many entities most may be unmeasured: the books are for the others.
        let Some(measured) = (self.measured)(entity) else { return Account::Unknown };
        let key = || (entity.clone(), kind, weight);
        let draw = || {
            let control = self.control_end(kind);
            burden::account(&measured, kind, weight, &self.periods, control)
        };
        let find = |kept: &Kept| kept.accounts.get(&key()).cloned();
        self.books.or_else(&self.periods, find, draw, |kept, account| {
            kept.accounts.insert(key(), account);
        })
    }

    /// When the early part of the window ends that can serve as a control: one step before
    /// anything is known to be wrong where the alerts are. Levels drift between a baseline taken
    /// at another time and the incident; what was there before the trouble is no part of it.
    fn control_end(&self, kind: Kind) -> Option<Timestamp> {
        let find = |kept: &Kept| kept.controls.get(&kind).copied();
        self.books.or_else(
            &self.periods,
            find,
            || self.find_control_end(kind),
            |kept, end| {
                kept.controls.insert(kind, end);
            },
        )
    }

    fn find_control_end(&self, kind: Kind) -> Option<Timestamp> {
        // What an alert of another kind tells comes any time after the trouble began.
        if self.asked.is_implied {
            return None;
        }
        let begun = self.begun(kind).into_iter();
        begun.map(|(at, step)| at.checked_sub(step).unwrap_or(Timestamp::MIN)).min()
    }

    /// When trouble began at each alerting entity: with its own burden or, where that does not stand out, with
    /// the alert. With the step in which that is known.
    fn begun(&self, kind: Kind) -> Vec<(Timestamp, SignedDuration)> {
        let is_of_kind =
            |alert: &&Anomaly| self.asked.is_implied || Kind::of(alert.signal) == Some(kind);
        let alerts = self.anomalies.iter().filter(is_of_kind);
        let begun = alerts.map(|alert| {
            let measured = (self.measured)(&alert.entity);
            let account = measured.map_or(Account::Unknown, |measured| {
                burden::account(&measured, kind, Weight::Calls, &self.periods, None)
            });
            match account {
                Account::Burden(burden) => {
                    let first = burden.onset().map_or(alert.onset, |at| at.min(alert.onset));
                    (first, burden.step())
                }
                Account::Usual | Account::Unknown => (alert.onset, SignedDuration::ZERO),
            }
        });
        begun.collect()
    }

    /// Whom effects on an entity can come from directly, by what was recorded of them.
    fn watched(&self, entity: &EntityId) -> notes::Watched {
        let neighbours = self.ways.number(entity).into_iter().flat_map(|at| self.upstream(at));
        let names = neighbours.filter_map(|at| self.ways.name(at)).cloned();
        let (recorded, unrecorded) = names.partition(|name| (self.measured)(name).is_some());
        notes::Watched { recorded, unrecorded }
    }

    fn by_order(&self, entity: &EntityId) -> Vec<Finding> {
        let own = self.deviation(entity);
        let alarm = self.anomalies.iter().filter(|alert| alert.entity == *entity);
        let alarm = alarm.map(|alert| alert.onset).min();
        let Some(latest) = own.iter().map(|own| own.between.1).chain(alarm).min() else {
            return Vec::new();
        };
        // What begins with the alarm itself is the alarm, not what led to it.
        let before_alarm = own.filter(|own| alarm.is_none_or(|alarm| own.onset < alarm));
        let (mut earlier, is_whole) = self.deviating_upstream(entity, latest, false);
        if earlier.is_empty() && before_alarm.is_none() && !is_whole {
            (earlier, _) = self.deviating_upstream(entity, latest, true);
            let nearest = earlier.iter().map(|(_, path, _)| path.len()).min();
            earlier.retain(|(_, path, _)| Some(path.len()) == nearest);
        }
        earlier.sort_by(|(a, path_a, one), (b, path_b, other)| {
            (one.rank(), one.onset, path_a.len(), a).cmp(&(
                other.rank(),
                other.onset,
                path_b.len(),
                b,
            ))
        });
        earlier.truncate(MAX_NAMED);
        if earlier.is_empty() && before_alarm.is_none() {
            return Vec::new();
        }
        notes::of_order(entity, before_alarm.as_ref(), &earlier, &self.watched(entity))
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

    /// The nearest entities against the way of effects that can have deviated before an instant,
    /// with the path to each from the entity. Entities without any record pass effects on unseen;
    /// those that seem as usual do so with `through_usual` alone, for an alarm that nothing else
    /// explains. Also whether nobody stopped the search by seeming as usual.
    fn deviating_upstream(
        &self,
        entity: &EntityId,
        latest: Timestamp,
        through_usual: bool,
    ) -> (Vec<(EntityId, Vec<EntityId>, Deviation)>, bool) {
        let (mut found, mut is_whole) = (Vec::new(), true);
        let Some(start) = self.ways.number(entity) else { return (found, is_whole) };
        // Whom effects go to next, on the way back to the entity.
        let mut next = BTreeMap::from([(start, start)]);
        let mut queue = VecDeque::from([(start, 0)]);
        while let Some((last, hops)) = queue.pop_front() {
            for number in self.upstream(last) {
                let Entry::Vacant(slot) = next.entry(number) else { continue };
                slot.insert(last);
                let Some(neighbour) = self.ways.name(number) else { continue };
                let deviation = self.deviation(neighbour);
                let earlier = deviation.filter(|deviation| deviation.can_precede(latest));
                let passes = || through_usual || (self.measured)(neighbour).is_none();
                if let Some(deviation) = earlier {
                    let back = std::iter::successors(Some(number), |at| {
                        next.get(at).copied().filter(|_| *at != start)
                    });
                    let mut path = self.ways.named(&back.collect::<Vec<Number>>());
                    path.reverse();
                    found.push((neighbour.clone(), path, deviation));
                } else if hops + 1 < MAX_PATH_HOPS {
                    match passes() {
                        true => queue.push_back((number, hops + 1)),
                        false => is_whole = false,
                    }
                }
            }
        }
        (found, is_whole)
    }

    fn callees_of(&self, entity: Number) -> impl Iterator<Item = Number> {
        self.ways.lanes(Travel::Demand).onward.of(entity)
    }

    /// Neighbours that effects come from, by name, each once.
    fn upstream(&self, entity: Number) -> impl Iterator<Item = Number> {
        self.ways.lanes(Travel::Effects).back.of(entity)
    }
}
