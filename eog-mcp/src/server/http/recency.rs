//! Which session goes when another one needs its place.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// When each session was last used, in turns.
#[derive(Default)]
pub(super) struct Recency(Mutex<Turns>);

#[derive(Default)]
struct Turns {
    now: u64,
    /// Whether a session was used after it had begun, and when last.
    last: HashMap<String, (bool, u64)>,
}

impl Recency {
    /// A session has begun.
    pub(super) fn begun(&self, session: &str) {
        self.note(session, false);
    }

    /// Something was asked in a session.
    pub(super) fn used(&self, session: &str) {
        // Names that are none of ours are not kept.
        if self.turns().last.contains_key(session) {
            self.note(session, true);
        }
    }

    fn note(&self, session: &str, is_used: bool) {
        let mut turns = self.turns();
        turns.now += 1;
        let now = turns.now;
        turns.last.insert(session.to_owned(), (is_used, now));
    }

    /// Forgets the sessions that are no longer there.
    pub(super) fn keep(&self, is_there: impl Fn(&str) -> bool) {
        self.turns().last.retain(|session, _| is_there(session));
    }

    /// How many sessions are known, closed ones included.
    pub(super) fn known(&self) -> usize {
        self.turns().last.len()
    }

    /// The session that is missed least: one that was never used, otherwise the one that has been silent for
    /// longest. One without any request yet may be about to begin: it goes only if none is.
    pub(super) fn least<'a>(
        &self,
        sessions: impl Iterator<Item = &'a str>,
        one_begins: bool,
    ) -> Option<&'a str> {
        let turns = self.turns();
        let turn = |session: &str| turns.last.get(session).copied();
        let known = sessions.filter(|session| !one_begins || turn(session).is_some());
        known.min_by_key(|session| turn(session).unwrap_or_default())
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_that_is_missed_least_goes() {
        let recency = Recency::default();
        ["a", "b", "c"].into_iter().for_each(|session| recency.begun(session));
        recency.used("a");
        let least = |of: &[&'static str]| recency.least(of.iter().copied(), true);
        assert_eq!(least(&["a", "b", "c"]), Some("b"));
        recency.used("c");
        recency.used("b");
        recency.used("unknown");
        assert_eq!((least(&["a", "b", "c"]), least(&["b", "c"])), (Some("a"), Some("c")));
        assert_eq!(least(&["begins", "a"]), Some("a"), "a session that is about to begin stays");
        assert_eq!(least(&["begins"]), None);
        assert_eq!(recency.least(["left", "a"].into_iter(), false), Some("left"));
        recency.keep(|session| session == "b");
        assert_eq!((recency.known(), least(&[])), (1, None));
    }
}
