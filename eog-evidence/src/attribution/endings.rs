//! Whose answers end the requests of those who asked.

use std::collections::BTreeSet;

use eog_core::evidence::Signal;
use eog_core::{EntityId, Finding};

use super::trouble::Spot;
use super::{Attribution, Kind, notes};
use crate::self_time::{Books, Ending};
use crate::shift::during;

/// At most so many callers are named to one whose answers end their requests.
const MAX_CALLERS: usize = 3;

impl Attribution<'_> {
    /// Notes on requests that end once a callee has answered: to the caller, and to the callee.
    pub(super) fn endings(&self, entity: &EntityId) -> Vec<Finding> {
        let Some(books) = self.traced_books(Kind::Time) else { return Vec::new() };
        let told = self.endings_that_count(&books);
        let of = told.iter().filter(|(caller, one)| *caller == entity || one.callee == *entity);
        let note = |(caller, one): &(&EntityId, &Ending)| {
            let book = books.get(caller)?;
            let time = during(book.time.0, book.time.1);
            Some(notes::of_ending(entity, caller, one, time, self.traces))
        };
        of.filter_map(note).take(MAX_CALLERS).collect()
    }

    /// What tells where to look: whose answers end the requests of others.
    pub(super) fn spot_of_endings(&self, entity: &EntityId) -> Option<Spot> {
        let books = self.traced_books(Kind::Time)?;
        let told = self.endings_that_count(&books);
        let of = told.iter().filter(|(_, one)| one.callee == *entity);
        let spots = of.map(|(caller, one)| Spot {
            times: one.now / one.usual.max(1.0 / one.requests as f64),
            signal: Signal::Output,
            text: notes::ending_excerpt(caller, one),
        });
        spots.max_by(|a, b| a.times.total_cmp(&b.times))
    }

    /// The endings that count, one for each caller. Where the requests of one caller alone end after an answer, that is
    /// commonly its own doing: it fails, or returns, at one place. They count where those of another caller end after
    /// answers of the same callee.
    fn endings_that_count<'b>(&self, books: &'b Books) -> Vec<(&'b EntityId, &'b Ending)> {
        let known = books.endings().filter(|(caller, _)| !self.loses_calls(caller));
        let known: Vec<(&EntityId, &Ending)> = known.collect();
        let is_shared = |ending: &Ending| {
            let alike = known.iter().filter(|(_, other)| other.callee == ending.callee);
            // Replicas share their code: they are one caller.
            let callers = alike.map(|(caller, _)| {
                self.siblings(caller)
                    .first()
                    .map_or_else(|| (*caller).clone(), |one| (*one).clone())
            });
            callers.collect::<BTreeSet<EntityId>>().len() > 1
        };
        let mut told: Vec<(&EntityId, &Ending)> =
            known.iter().copied().filter(|(_, ending)| is_shared(ending)).collect();
        told.dedup_by(|later, first| later.0 == first.0);
        told
    }
}
