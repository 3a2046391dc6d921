//! The time that is captured.

use eog_core::{Timestamp, Window};
use jiff::SignedDuration;

use crate::alertmanager::SentAlert;
use crate::piece::Millis;

/// From when until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) from: Millis,
    pub(crate) until: Millis,
}

impl Period {
    /// What a window needs: itself, and what lies before, but nothing that has not happened yet. Without a window, the
    /// history goes back from the first alert that is given, if that is not longer ago than the history.
    pub(crate) fn of(
        window: Option<Window>,
        alerts: &[SentAlert],
        history: SignedDuration,
        now: Timestamp,
    ) -> Self {
        let before = |at: Timestamp| {
            let history = i64::try_from(history.as_millis()).unwrap_or(i64::MAX);
            at.as_millisecond().saturating_sub(history)
        };
        let now_ms = now.as_millisecond();
        let (from, until) = match window {
            Some(window) => (before(window.start()), window.end().as_millisecond().min(now_ms)),
            None => {
                let first = alerts.iter().map(|alert| alert.starts_at).min().unwrap_or(now);
                let longest = Timestamp::from_millisecond(before(now)).unwrap_or(Timestamp::MIN);
                (before(first.max(longest).min(now)), now_ms)
            }
        };
        Self { from: from.max(0), until }
    }

    pub(crate) fn seconds(self) -> i64 {
        (self.until - self.from).max(0) / 1000
    }

    pub(crate) fn contains(self, at: Millis) -> bool {
        (self.from..=self.until).contains(&at)
    }

    /// In so many parts of about the same length, without gaps.
    pub(crate) fn parts(self, count: u32) -> Vec<Self> {
        let count = i64::from(count.max(1));
        let at = |part: i64| self.from + (self.until - self.from) / count * part;
        (0..count)
            .map(|part| Self {
                from: at(part),
                until: if part + 1 == count { self.until } else { at(part + 1) },
            })
            .filter(|part| part.from < part.until)
            .collect()
    }
}

/// A time for people and files.
pub(crate) fn shown(at: Millis) -> String {
    Timestamp::from_millisecond(at).map_or_else(|_| at.to_string(), |at| at.to_string())
}

impl std::fmt::Display for Period {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", shown(self.from), shown(self.until))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_767_261_600 + 60 * minute).unwrap()
    }

    #[test]
    fn the_history_goes_back_from_the_first_alert() {
        let from = |alerts: &[i64]| {
            let alert = |starts: &i64| SentAlert {
                labels: BTreeMap::new(),
                annotations: BTreeMap::new(),
                starts_at: at(*starts),
                ends_at: None,
            };
            let alerts: Vec<SentAlert> = alerts.iter().map(alert).collect();
            let period = Period::of(None, &alerts, SignedDuration::from_mins(60), at(0));
            assert_eq!(period.until, at(0).as_millisecond());
            (period.from - at(0).as_millisecond()) / 60_000
        };
        assert_eq!(from(&[]), -60);
        assert_eq!(from(&[-5, -30]), -90);
        assert_eq!(from(&[-600]), -120, "no longer than twice the history");
        assert_eq!(from(&[5]), -60, "an alert of the future");
    }
}
