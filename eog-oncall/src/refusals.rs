//! Requests that were not taken in, told now and then: whoever is refused comes again and again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use eog_report::clean::clean_up_to;

/// Least time between two lines.
const PAUSE: Duration = Duration::from_secs(30);
/// Most characters of a reason.
const MAX_REASON: usize = 300;

/// Requests that were not taken in.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Since>);

#[derive(Debug, Default)]
struct Since {
    told: Option<Instant>,
    /// Requests that no line has told of.
    untold: u64,
}

impl Refusals {
    /// Tells of one, with how many there were since the last line.
    pub(crate) fn tell(&self, kind: &str, reason: &str) {
        if let Some(requests) = self.count(Instant::now()) {
            let reason = clean_up_to(reason, MAX_REASON);
            tracing::warn!(kind, requests, ?reason, "alerts not taken in");
        }
    }

    /// Counts one: how many a line is to tell of, or nothing if there was a line just before.
    fn count(&self, now: Instant) -> Option<u64> {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.untold += 1;
        if since.told.is_some_and(|told| now.duration_since(told) < PAUSE) {
            return None;
        }
        since.told = Some(now);
        Some(std::mem::take(&mut since.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_refusals_are_few_lines_that_count_them_all() {
        let refusals = Refusals::default();
        let begin = Instant::now();
        let at = |second| begin + Duration::from_secs(second);
        assert_eq!(refusals.count(at(0)), Some(1));
        for second in 1..30 {
            assert_eq!(refusals.count(at(second)), None);
        }
        assert_eq!(refusals.count(at(30)), Some(30));
    }
}
