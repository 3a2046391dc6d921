//! Requests that were not taken in, logged now and then: refused clients come again and again.

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
    logged: Option<Instant>,
    /// Requests since the last line.
    unlogged: u64,
}

impl Refusals {
    /// Logs one, with how many there were since the last line.
    pub(crate) fn log(&self, kind: &str, reason: &str) {
        if let Some(requests) = self.count(Instant::now()) {
            let reason = clean_up_to(reason, MAX_REASON);
            tracing::warn!(kind, requests, ?reason, "alerts not taken in");
        }
    }

    /// Counts one: how many a line is to report, or nothing if there was a line just before.
    fn count(&self, now: Instant) -> Option<u64> {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.unlogged += 1;
        if since.logged.is_some_and(|logged| now.duration_since(logged) < PAUSE) {
            return None;
        }
        since.logged = Some(now);
        Some(std::mem::take(&mut since.unlogged))
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
