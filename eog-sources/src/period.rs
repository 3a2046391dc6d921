//! The time that is captured.

use eog_core::{Timestamp, Window};
use jiff::SignedDuration;

use crate::piece::Millis;

/// From when until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) from: Millis,
    pub(crate) until: Millis,
}

impl Period {
    /// What a window needs: itself, and what lies before, but nothing that has not happened yet.
    pub(crate) fn of(window: Option<Window>, history: SignedDuration, now: Timestamp) -> Self {
        let before = |at: Timestamp| {
            let history = i64::try_from(history.as_millis()).unwrap_or(i64::MAX);
            at.as_millisecond().saturating_sub(history)
        };
        let now_ms = now.as_millisecond();
        let (from, until) = match window {
            Some(window) => (before(window.start()), window.end().as_millisecond().min(now_ms)),
            None => (before(now), now_ms),
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
