//! Callees whose answers end the requests of their callers.

use std::collections::BTreeMap;

use eog_core::evidence::Signal;
use eog_core::{EntityId, Finding};

use super::trouble::Spot;
use super::{Attribution, Kind, notes};
use crate::self_time::{Books, Ending};
use crate::shift::during;
use crate::stats::BEYOND_CHANCE;

/// At most so many callers are named to one whose answers end their requests.
const MAX_CALLERS: usize = 3;

impl Attribution<'_> {
    /// Notes on requests that end once a callee has answered: to the caller, and to the callee.
    pub(super) fn endings(&self, entity: &EntityId) -> Vec<Finding> {
        let Some(books) = self.traced_books(Kind::Time) else { return Vec::new() };
        let endings = self.endings_that_count(&books);
        let of = endings.iter().filter(|(caller, one)| *caller == entity || one.callee == *entity);
        let note = |(caller, one): &(&EntityId, &Ending)| {
            let book = books.get(caller)?;
            let time = during(book.time.0, book.time.1);
            Some(notes::of_ending(entity, caller, one, time, self.sources.traces))
        };
        of.filter_map(note).take(MAX_CALLERS).collect()
    }

    /// Where to check first: the entity whose answers end the requests of others.
    pub(super) fn spot_of_endings(&self, entity: &EntityId) -> Option<Spot> {
        let books = self.traced_books(Kind::Time)?;
        let endings = self.endings_that_count(&books);
        let of = endings.iter().filter(|(_, one)| one.callee == *entity);
        let spots = of.map(|(caller, one)| Spot {
            times: one.now / one.usual.max(1.0 / one.requests as f64),
            signal: Signal::Output,
            is_sure: true,
            longer: None,
            text: notes::ending_excerpt(caller, one),
        });
        spots.max_by(|a, b| a.times.total_cmp(&b.times))
    }

    /// The endings that count, one for each caller. Where requests end after an answer at one place alone, that is commonly
    /// the doing of who asked: it fails, or returns, there. They count where those of another caller, or for another of its
    /// operations, end after answers of the same callee, and where an alert speaks of the callee itself.
    fn endings_that_count<'b>(&self, books: &'b Books) -> Vec<(&'b EntityId, &'b Ending)> {
        // An entity that takes longer itself may be cut off anywhere.
        let works_longer =
            |caller: &EntityId| books.get(caller).is_some_and(|book| book.own_stands_out);
        let known = books
            .endings()
            .filter(|(caller, _)| !self.loses_calls(caller) && !works_longer(caller));
        let known: Vec<(&EntityId, &Ending)> = known.collect();
        let counts = |ending: &Ending| {
            // Replicas share their code: they are one caller.
            let mut callers: BTreeMap<&EntityId, &Ending> = BTreeMap::new();
            for (caller, other) in known.iter().filter(|(_, other)| other.callee == ending.callee) {
                let caller = self.siblings(caller).first().copied().unwrap_or(caller);
                let known = callers.entry(caller).or_insert(other);
                if other.sigmas > known.sigmas {
                    *known = other;
                }
            }
            let places: usize = callers.values().map(|one| one.operations.max(1)).sum();
            let sigmas: f64 = callers.values().map(|one| one.sigmas).sum();
            let is_alerting = self.anomalies.iter().any(|alert| alert.entity == ending.callee);
            (places > 1 || is_alerting) && sigmas >= BEYOND_CHANCE * (callers.len() as f64).sqrt()
        };
        let mut endings: Vec<(&EntityId, &Ending)> =
            known.iter().copied().filter(|(_, ending)| counts(ending)).collect();
        endings.dedup_by(|later, first| later.0 == first.0);
        endings
    }
}
