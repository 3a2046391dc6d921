//! Accounts by traced requests, where both ends of calls were recorded: they say more than series do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::evidence::Signal;
use eog_core::{Anomaly, EntityId, Finding};

use super::burden::longest;
use super::replicas::Spread;
use super::{Attribution, Kind, MINOR, notes};
use crate::alarms::Alarms;
use crate::paths::Travel;
use crate::self_time::{Book, Books, Calls};
use crate::shift::during;

/// At most so many are named for one alert.
const MAX_PARTS: usize = 3;

/// Whether an entity does worse by its traced requests.
fn is_seen(books: &Books, entity: &EntityId) -> bool {
    books.get(entity).is_some_and(|book| book.stands_out)
}

/// The books over traced requests, of each kind of trouble: nothing where they are not conclusive.
#[derive(Clone, Debug, Default)]
pub(super) struct TracedBooks {
    time: Option<Arc<Books>>,
    failures: Option<Arc<Books>>,
}

impl Attribution<'_> {
    /// What an entity has too much of by its traced requests; nothing where these are not conclusive.
    pub(super) fn by_traced(&self, entity: &EntityId, kind: Kind) -> Option<Vec<Finding>> {
        let books = self.traced_books(kind)?;
        let has_traces = self.traces_its_calls(entity) && !self.loses_calls(entity);
        let book = books.get(entity).filter(|_| has_traces && !self.loses_spans(entity))?;
        let has_shares = book.callees.iter().any(|(_, part)| *part > 0.0);
        let shown = book.total() > 0.0 && (book.stands_out || has_shares);
        let held_up = self.held_up_by(entity);
        let share = |callee: &EntityId, part: f64| match (shown, held_up.as_ref()) {
            (false, _) => 0.0,
            (true, Some(by)) if kind == Kind::Time && by == callee => 1.0,
            (true, _) => book.share(part),
        };
        let shares: Vec<(EntityId, f64, f64)> = book
            .callees
            .iter()
            .filter(|(callee, part)| shown || *part > 0.0 || is_seen(&books, callee))
            .map(|(callee, part)| (callee.clone(), share(callee, *part), *part))
            .take(super::MAX_NAMED)
            .collect();
        // What is its own is that of all replicas, where they have it alike.
        let wholes = self.wholes(entity, kind);
        let is_one_of_many = wholes.iter().any(|(_, spread)| *spread == Spread::Alike);
        let remainder = !is_one_of_many
            && book.own_stands_out
            && held_up.is_none()
            && self.is_whole(entity, book, &books, kind);
        let mut findings =
            notes::of_traced(entity, kind, book, shown, &shares, remainder, self.sources.traces);
        let wholes_to_note = if book.own_stands_out { wholes.as_slice() } else { &[] };
        let time = during(book.time.0, book.time.1);
        self.add_wholes(&mut findings, entity, kind, (wholes_to_note, book.share(book.own)), time);
        let details = book.operations.iter();
        findings
            .extend(details.map(|one| notes::of_detail(entity, kind, one, self.sources.traces)));
        Some(findings)
    }

    /// Calls that an entity makes again more often, and that requests wait for it longer.
    pub(super) fn attempts(&self, entity: &EntityId) -> Vec<Finding> {
        let kept =
            self.asked.kinds.iter().find_map(|kind| Some((*kind, self.traced_books(*kind)?)));
        let Some((kind, books)) = kept else { return Vec::new() };
        let attempts = books.get(entity).map_or(&[][..], |book| &book.attempts).iter();
        attempts.map(|one| notes::of_detail(entity, kind, one, self.sources.traces)).collect()
    }

    /// Notes on which entities have what is bad about the requests of an alerting one, and how much: on the latter, and on those
    /// that have it.
    pub(super) fn courses(&self, entity: &EntityId) -> Vec<Finding> {
        let mut findings = Vec::new();
        for kind in &self.asked.kinds {
            let Some(books) = self.traced_books(*kind) else { continue };
            for (alerting, course) in books.courses() {
                let parts = course.parts.iter().filter(|part| part.amount >= MINOR * course.whole);
                let own = parts
                    .take(MAX_PARTS)
                    .filter(|part| entity == alerting || part.entity == *entity);
                findings.extend(own.map(|part| {
                    notes::of_course(entity, alerting, *kind, (course, part), self.sources.traces)
                }));
            }
        }
        findings
    }

    /// How much of what an alerting entity has too much of another can account for; nothing where traced
    /// requests are not conclusive, and nothing within where they are too few.
    pub(super) fn part_of_traced(
        &self,
        entity: &EntityId,
        alerting: &EntityId,
        kind: Kind,
    ) -> Option<Option<f64>> {
        let books = self.traced_books(kind)?;
        let theirs = books.get(alerting).filter(|_| self.traces_its_calls(alerting))?;
        let own = books.get(entity).filter(|_| !self.loses_spans(entity))?;
        if !theirs.stands_out {
            return Some(None);
        }
        let share = if own.stands_out { own.total() / theirs.total() } else { 0.0 };
        Some(Some(share.clamp(0.0, 1.0)))
    }

    /// Whether what fails at an entity can be calls that took too long, by its traced requests.
    pub(super) fn traced_may_time_out(&self, entity: &EntityId) -> Option<bool> {
        let (time, failures) = (self.traced_books(Kind::Time)?, self.traced_books(Kind::Failures)?);
        let (time, failures) = (time.get(entity)?, failures.get(entity)?);
        Some(time.stands_out && time.total() >= failures.total() * time.usual)
    }

    /// The books of an account, if requests of an alerting entity were traced, and both ends of calls.
    pub(super) fn traced_books(&self, kind: Kind) -> Option<Arc<Books>> {
        let find = |kept: &super::Kept| kept.traced.clone();
        let both = self.books.or_else(
            &self.periods,
            find,
            || self.draw_up().unwrap_or_default(),
            |kept, both| kept.traced = Some(both),
        );
        match kind {
            Kind::Time => both.time,
            Kind::Failures => both.failures,
        }
    }

    fn draw_up(&self) -> Option<TracedBooks> {
        let calls = self.calls?;
        let kinds = [Kind::Time, Kind::Failures].map(|kind| calls.can_count(kind.counted()));
        if kinds == [false, false] || !self.traces_both_ends(calls) {
            return None;
        }
        let alarms = Alarms::new(self.ways, self.anomalies, false);
        let leads_to_an_alarm = |entity: &&EntityId| {
            let number = self.ways.number(entity);
            number.is_some_and(|one| {
                alarms.all().iter().any(|alarm| alarms.hops(one, alarm).is_some())
            })
        };
        let upstream: BTreeSet<EntityId> =
            self.ways.names().iter().filter(leads_to_an_alarm).cloned().collect();
        let window = self.periods.window;
        let onsets = self.anomalies.iter().flat_map(Anomaly::onsets);
        let alert = onsets.filter(|onset| window.contains(*onset)).min()?;
        let alerting: BTreeSet<&EntityId> =
            self.anomalies.iter().map(|alert| &alert.entity).collect();
        let is_slow = |alert: &&Anomaly| alert.signal == Signal::Latency;
        let slow: BTreeSet<&EntityId> =
            self.anomalies.iter().filter(is_slow).map(|alert| &alert.entity).collect();
        let has_no_baseline = self.periods.baseline.is_empty();
        let books = |kind: Kind| {
            let mut books = Books::of(calls, kind.counted(), (&upstream, &alerting), alert, window);
            // With a baseline, an alert about what is as usual is a false one.
            if kind == Kind::Time && has_no_baseline {
                books.add_whole_courses(calls, &slow, window);
            }
            let is_judged = alerting.iter().any(|entity| books.get(entity).is_some())
                || books.courses().next().is_some();
            is_judged.then(|| Arc::new(books))
        };
        let [time, failures] = kinds;
        let of_failures = || if failures { books(Kind::Failures) } else { None };
        // Neither needs the other. Where no thread can be had, one comes after the other.
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, of_failures).ok();
            let time = if time { books(Kind::Time) } else { None };
            let failures = match thread.map(std::thread::ScopedJoinHandle::join) {
                Some(Ok(failures)) => failures,
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => of_failures(),
            };
            Some(TracedBooks { time, failures })
        })
    }

    /// Whether calls were recorded where they are made as well, for at least half of those whose work was recorded.
    /// Spans of one end alone do not show what a caller waits for.
    fn traces_both_ends(&self, calls: &Calls) -> bool {
        let (mut all, mut known) = (0, 0);
        for caller in self.ways.names() {
            let made: BTreeSet<&EntityId> = calls.callees(caller).collect();
            // Nothing is expected of who is idle.
            if made.is_empty() && !calls.serves(caller) && self.is_idle(caller) {
                continue;
            }
            for callee in self.callees(caller).filter(|callee| calls.serves(callee)) {
                all += 1;
                known += usize::from(made.contains(callee));
            }
        }
        2 * known >= all
    }

    /// Whether nothing was ever asked of an entity, as it measured.
    fn is_idle(&self, entity: &EntityId) -> bool {
        let series = (self.measured)(entity).map(|measured| measured.series).unwrap_or_default();
        let own = series.into_iter().filter(|series| series.peer.is_none());
        let traffic = longest(own.filter(|series| series.signal == Signal::Traffic));
        traffic.is_some_and(|traffic| traffic.points.iter().all(|(_, requests)| *requests == 0.0))
    }

    /// Whether an entity's calls to at least half of its callees were recorded: its own time is what they leave.
    pub(super) fn traces_its_calls(&self, entity: &EntityId) -> bool {
        let traced: BTreeSet<&EntityId> =
            self.calls.into_iter().flat_map(|calls| calls.callees(entity)).collect();
        let (mut all, mut known) = (0, 0);
        for callee in self.callees(entity) {
            all += 1;
            known += usize::from(traced.contains(callee));
        }
        // Calls that its replicas serve and make are theirs.
        let by_replicas = || {
            let number = self.ways.number(entity);
            number.is_some_and(|number| !self.replicas(number).is_empty())
        };
        2 * known >= all && (all > 0 || !by_replicas())
    }

    /// Whether no entity upstream can hold what is left: calls to the entity's callees were recorded, or they are
    /// recorded to be as usual; and whatever else it rests on, such as a workload or a node, is measured, or is recorded
    /// as a caller. What is lost on the way here never reached its callees.
    fn is_whole(&self, entity: &EntityId, own: &Book, books: &Books, kind: Kind) -> bool {
        let shared = self.shared_with_the_well(&self.wholes(entity, kind), kind);
        let is_shared = |other: &EntityId| {
            self.ways.number(other).is_some_and(|number| shared.contains(&number))
        };
        let traced: BTreeSet<&EntityId> =
            self.calls.into_iter().flat_map(|calls| calls.callees(entity)).collect();
        let called: BTreeSet<&EntityId> = self.callees(entity).collect();
        let calls_are_known = called.iter().all(|callee| {
            let is_usual = || books.get(callee).is_some_and(|book: &Book| !book.stands_out);
            // Where what it serves is recorded, so would calls to it be.
            let is_recorded = || self.calls.is_some_and(|calls| calls.serves(callee));
            traced.contains(callee) || is_recorded() || is_usual() || is_shared(callee)
        });
        let is_lost_before = 2.0 * own.way_here >= own.own;
        let is_caller = |other: &EntityId| {
            self.calls.is_some_and(|calls| calls.callees(other).any(|callee| callee == entity))
        };
        let number = self.ways.number(entity);
        let bears_the_well = |other: &EntityId| {
            let base = self.ways.number(other);
            base.zip(number).is_some_and(|(base, at)| self.bears_the_well(base, at, kind))
        };
        let rests_on = number.into_iter().flat_map(|at| self.upstream(at));
        let mut rests_on = rests_on.filter_map(|at| self.ways.name(at));
        (calls_are_known || is_lost_before)
            && rests_on.all(|other| {
                called.contains(other)
                    || (self.measured)(other).is_some()
                    || is_caller(other)
                    || bears_the_well(other)
            })
    }

    pub(super) fn callees(&self, entity: &EntityId) -> impl Iterator<Item = &EntityId> {
        let number = self.ways.number(entity);
        let callees =
            number.into_iter().flat_map(|number| self.ways.lanes(Travel::Demand).onward.of(number));
        let names: BTreeMap<_, _> =
            callees.filter_map(|callee| Some((callee, self.ways.name(callee)?))).collect();
        names.into_values()
    }
}
