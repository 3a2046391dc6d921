//! The account of an entity: what it has too much of, who upstream accounts for it, and what is left.

use std::collections::{BTreeSet, VecDeque};

use eog_core::evidence::Signal;
use eog_core::{Anomaly, EntityId, Finding, Timestamp};
use jiff::SignedDuration;

use super::burden::{self, Account, Burden, Weight};
use super::notes::during_burden;
use super::replicas::Spread;
use super::{Attribution, Kept, Kind, MAX_NAMED, notes};
use crate::events::EventRecord;
use crate::paths::MAX_PATH_HOPS;
use crate::series::Series;
use crate::shift::find_shift;
use crate::ways::Number;

/// The entities that may account for a part of an entity's excess.
struct Candidates {
    /// Those to ask, with how many hops they are away.
    queue: VecDeque<(Number, usize)>,
    /// Those who were asked, and those who are not to be asked.
    seen: BTreeSet<Number>,
    /// The callees of the entity.
    called: BTreeSet<Number>,
    /// The replicas of the entity, where all have as much as each other.
    alike: Vec<Number>,
}

/// What others account for, and whether all of them are known.
#[derive(Default)]
struct Shares {
    all: Vec<(EntityId, f64, Burden)>,
    lacks: bool,
}

impl Attribution<'_> {
    /// An entity's excess on an account, who accounts for it, and what is left unaccounted for: by single requests where
    /// these were traced, else by its series.
    pub(super) fn by_account(&self, entity: &EntityId, kind: Kind) -> Vec<Finding> {
        if let Some(findings) = self.by_traced(entity, kind) {
            return findings;
        }
        let Account::Burden(own) = self.account(entity, kind, Weight::Calls) else {
            return Vec::new();
        };
        let alerting =
            self.anomalies.iter().any(|a| a.entity == *entity && Kind::of(a.signal) == Some(kind));
        let shown = own.total() > 0.0 && (own.stands_out() || alerting);
        let wholes = self.wholes(entity, kind);
        let candidates = self.candidates(entity, kind, (&wholes, own.stands_out()));
        let Shares { all: shares, lacks } = self.shares(entity, kind, (&own, shown), candidates);
        let is_one_of_many = wholes.iter().any(|(_, spread)| *spread == Spread::Alike);
        let remainder =
            own.stands_out() && !lacks && !is_one_of_many && self.held_up_by(entity).is_none();
        let wholes_to_note = if own.stands_out() { wholes.as_slice() } else { &[] };
        if shares.is_empty() && !remainder && wholes_to_note.is_empty() {
            return Vec::new();
        }
        let mut findings =
            notes::of_account(entity, kind, &own, shown, &shares, remainder, self.sources.metrics);
        // What replicas have because of another entity, the whole has, too.
        self.add_wholes(&mut findings, entity, kind, (wholes_to_note, 1.0), during_burden(&own));
        if !shown {
            findings.extend(self.slow_calls(entity, kind, &own));
        }
        findings
    }

    fn candidates(
        &self,
        entity: &EntityId,
        kind: Kind,
        (wholes, in_trouble): (&[(Number, Spread)], bool),
    ) -> Candidates {
        let start = self.ways.number(entity);
        let of_start = |of: &dyn Fn(Number) -> Vec<Number>| start.map(of).unwrap_or_default();
        let upstream = of_start(&|at| self.upstream(at).collect());
        let mut queue: VecDeque<(Number, usize)> =
            upstream.into_iter().map(|one| (one, 1)).collect();
        // What all replicas wait for may account for more than any of them.
        let mut alike = of_start(&|at| self.replicas(at));
        let behind = alike.iter().flat_map(|one| self.callees_of(*one));
        queue.extend(behind.map(|one| (one, 2)));
        if start.and_then(|start| self.spread(start, kind)) != Some(Spread::Alike) {
            alike.clear();
        }
        // When all replicas are alike, none of them is the cause. The spread of a whole says what it has.
        let mut seen: BTreeSet<Number> = start.into_iter().chain(alike.iter().copied()).collect();
        seen.extend(wholes.iter().map(|(whole, _)| whole));
        if in_trouble {
            seen.extend(self.shared_with_the_well(wholes, kind));
        }
        let called = of_start(&|at| self.callees_of(at).collect()).into_iter().collect();
        Candidates { queue, seen, called, alike }
    }

    /// What each of those asked accounts for, those with most first.
    fn shares(
        &self,
        entity: &EntityId,
        kind: Kind,
        (own, shown): (&Burden, bool),
        candidates: Candidates,
    ) -> Shares {
        let Candidates { mut queue, mut seen, called, alike } = candidates;
        let Shares { all: mut shares, mut lacks } = Shares::default();
        let start = self.ways.number(entity);
        // What it rests on shows in its own work: where that is as usual, it is its callers who see it late.
        let works_as_usual = match self.own_account(entity, kind, Weight::None) {
            Account::Usual => true,
            Account::Burden(own) => !own.stands_out(),
            Account::Unknown => false,
        };
        while let Some((number, hops)) = queue.pop_front() {
            let Some(neighbour) = self.ways.name(number).filter(|_| seen.insert(number)) else {
                continue;
            };
            let by_calls = self
                .share_by_calls(entity, neighbour, kind)
                .or_else(|| self.share_by_replicas(&alike, neighbour, kind));
            let by_calls = by_calls.map(|(share, calls)| (if shown { share } else { 0.0 }, calls));
            let with_name = |(share, burden): (f64, Burden)| (neighbour.clone(), share, burden);
            match self.account(neighbour, kind, Weight::Calls) {
                Account::Burden(theirs) if theirs.stands_out() => {
                    let share =
                        if shown { self.share(entity, neighbour, kind, own, &theirs) } else { 0.0 };
                    let by_calls = by_calls.filter(|(by_calls, _)| *by_calls > share);
                    shares.push(with_name(by_calls.unwrap_or((share, theirs))));
                }
                // What is not measured passes on what it is given.
                Account::Unknown if by_calls.is_none() => {
                    // What it rests on and does not call, such as a node, is on no account.
                    let bears_the_well = || {
                        (self.measured)(neighbour).is_none()
                            && start.is_some_and(|start| self.bears_the_well(number, start, kind))
                    };
                    let is_known = !called.contains(&number)
                        && (works_as_usual || self.is_as_usual(neighbour) || bears_the_well());
                    lacks |= !is_known;
                    if !is_known && hops < MAX_PATH_HOPS {
                        queue.extend(self.upstream(number).map(|further| (further, hops + 1)));
                    }
                }
                Account::Burden(_) | Account::Usual | Account::Unknown => {
                    shares.extend(by_calls.map(with_name));
                }
            }
        }
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        shares.truncate(MAX_NAMED);
        Shares { all: shares, lacks }
    }

    /// How much of what an entity has another accounts for, both of which stand out.
    fn share(
        &self,
        entity: &EntityId,
        other: &EntityId,
        kind: Kind,
        own: &Burden,
        theirs: &Burden,
    ) -> f64 {
        if own.precedes(theirs) {
            return 0.0;
        }
        if theirs.weight == own.weight {
            return own.share_of(theirs);
        }
        // Only like is compared with like: both per call, when the calls of one are unknown.
        let per_call = |entity: &EntityId| self.account(entity, kind, Weight::None);
        match (per_call(entity), per_call(other)) {
            (Account::Burden(own), Account::Burden(theirs)) => own.share_of(&theirs),
            _ => 0.0,
        }
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
    pub(super) fn account(&self, entity: &EntityId, kind: Kind, weight: Weight) -> Account {
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

    pub(super) fn own_account(&self, entity: &EntityId, kind: Kind, weight: Weight) -> Account {
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
    pub(super) fn control_end(&self, kind: Kind) -> Option<Timestamp> {
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
        // What an alert of another kind reports comes any time after the trouble began.
        if self.asked.is_implied {
            return None;
        }
        let begun = self.begun(kind).into_iter();
        begun.map(|(at, step)| at.checked_sub(step).unwrap_or(Timestamp::MIN)).min()
    }

    /// When trouble began at each alerting entity: with its own burden or, where that does not stand out, with
    /// the alert. With the step in which that is known.
    pub(super) fn begun(&self, kind: Kind) -> Vec<(Timestamp, SignedDuration)> {
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
}
