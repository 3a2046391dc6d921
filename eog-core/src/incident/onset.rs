//! Onsets: when something is known to have begun, with the uncertainty of the measurement.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::incident::window::to_the_second;

/// When something began, as the closed interval in which it did (95 % where it is an estimate).
///
/// A request that failed at 10:03:07, after one that went well at 10:03:01, gives the interval from
/// one to the other. The time at which an alert fired, or at which a comparison splits a recording,
/// is no onset.
///
/// ```
/// use eog_core::incident::Onset;
/// let bad = Onset::new("2026-01-01T10:03:01Z".parse()?, "2026-01-01T10:03:07Z".parse()?)?;
/// let deploy = Onset::at("2026-01-01T10:02:40Z".parse()?);
/// assert!(deploy.can_precede(&bad));
/// assert!(!bad.can_precede(&deploy));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "OnsetBounds", into = "OnsetBounds")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "OnsetBounds"))]
pub struct Onset {
    earliest: Timestamp,
    latest: Timestamp,
}

impl Onset {
    /// An onset somewhere from `earliest` to `latest`, both included.
    ///
    /// # Errors
    /// [`InvalidOnset`] unless `earliest <= latest`.
    pub fn new(earliest: Timestamp, latest: Timestamp) -> Result<Self, InvalidOnset> {
        if earliest <= latest {
            Ok(Self { earliest, latest })
        } else {
            Err(InvalidOnset { earliest, latest })
        }
    }

    /// An onset that is known exactly.
    pub fn at(instant: Timestamp) -> Self {
        Self { earliest: instant, latest: instant }
    }

    /// The onset lies between two instants, whichever comes first.
    pub fn between(a: Timestamp, b: Timestamp) -> Self {
        Self { earliest: a.min(b), latest: a.max(b) }
    }

    /// It did not begin before this.
    pub fn earliest(&self) -> Timestamp {
        self.earliest
    }

    /// It had begun by then.
    pub fn latest(&self) -> Timestamp {
        self.latest
    }

    /// Whether this can have begun no later than the other.
    pub fn can_precede(&self, other: &Self) -> bool {
        self.earliest <= other.latest
    }
}

impl fmt::Display for Onset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.earliest == self.latest {
            return f.pad(&to_the_second(self.earliest));
        }
        write!(f, "{} to {}", to_the_second(self.earliest), to_the_second(self.latest))
    }
}

/// The bounds of an onset are the wrong way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidOnset {
    earliest: Timestamp,
    latest: Timestamp,
}

impl fmt::Display for InvalidOnset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { earliest, latest } = self;
        write!(f, "an onset cannot be at {earliest} at the earliest and at {latest} at the latest")
    }
}

impl std::error::Error for InvalidOnset {}

/// The persisted form of an [`Onset`].
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OnsetBounds {
    /// It did not begin before this.
    earliest: Timestamp,
    /// It had begun by then.
    latest: Timestamp,
}

impl TryFrom<OnsetBounds> for Onset {
    type Error = InvalidOnset;
    fn try_from(bounds: OnsetBounds) -> Result<Self, InvalidOnset> {
        Self::new(bounds.earliest, bounds.latest)
    }
}

impl From<Onset> for OnsetBounds {
    fn from(onset: Onset) -> Self {
        Self { earliest: onset.earliest, latest: onset.latest }
    }
}
