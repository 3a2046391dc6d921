//! The clock of a service, which people and programs set, forwards and backwards.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

/// Says what time it is. Clones are the same.
#[derive(Clone)]
pub(crate) struct Clock {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// When it was first read, by itself and by a clock that cannot be set.
    began: (Timestamp, Instant),
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

impl Clock {
    /// That of the system.
    pub(crate) fn system() -> Self {
        Self::of(Timestamp::now)
    }

    pub(crate) fn of(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        let began = (now(), Instant::now());
        Self { now: Arc::new(now), began }
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// The time, but not later than the service has run for: what is removed by its age is not removed because a
    /// clock was set forward.
    pub(crate) fn surely(&self) -> Timestamp {
        let (began, instant) = self.began;
        let passed = SignedDuration::try_from(instant.elapsed()).unwrap_or(SignedDuration::MAX);
        self.now().min(began.checked_add(passed).unwrap_or(Timestamp::MAX))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_clock_that_is_set_forward_makes_nothing_old() {
        let start = Timestamp::UNIX_EPOCH;
        let set = Arc::new(Mutex::new(start));
        let shared = set.clone();
        let clock = Clock::of(move || *shared.lock().unwrap());
        let year = SignedDuration::from_hours(24 * 365);
        *set.lock().unwrap() = start + year;
        assert_eq!(clock.now(), start + year);
        assert!(clock.surely() < start + SignedDuration::from_hours(24), "the test ran for less");
        *set.lock().unwrap() = start - year;
        assert_eq!(clock.surely(), start - year, "set back, all is younger");
    }
}
