//! Time within a simulation: milliseconds since the recording began.

use eog_core::Timestamp;
use jiff::SignedDuration;

/// Milliseconds since the recording began; negative for what lies before.
pub(crate) type Ms = i64;

pub(crate) const SECOND: Ms = 1_000;
pub(crate) const MINUTE: Ms = 60 * SECOND;

/// How long the recording of a snapshot lasts.
pub(crate) const LENGTH: Ms = 60 * MINUTE;

/// When the recording began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(pub(crate) Timestamp);

impl Clock {
    /// The instant.
    pub(crate) fn at(self, ms: Ms) -> Timestamp {
        self.0.checked_add(SignedDuration::from_millis(ms)).unwrap_or(self.0)
    }

    /// As tables have it: `2026-01-01 10:00:00.500000000`.
    pub(crate) fn table(self, ms: Ms) -> String {
        self.at(ms).strftime("%Y-%m-%d %H:%M:%S.%9f").to_string()
    }

    /// The same to the second.
    pub(crate) fn seconds(self, ms: Ms) -> String {
        self.at(ms).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// As objects have it: `2026-01-01T10:00:00Z`.
    pub(crate) fn object(self, ms: Ms) -> String {
        self.at(ms).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// As file names have it: `2026-01-01T10-00-00.500000`.
    pub(crate) fn file(self, ms: Ms) -> String {
        self.at(ms).strftime("%Y-%m-%dT%H-%M-%S.%6f").to_string()
    }
}
