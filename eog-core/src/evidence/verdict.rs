//! The verdict of an operator on an entity.

use serde::{Deserialize, Serialize};

use super::{EvidenceKind, Finding, Trend};

/// An operator's verdict on whether an entity is the cause.
///
/// In a context it is a finding of kind note and source [`Verdict::SOURCE`]: rising for the cause,
/// steady for what is not. Text of telemetry never is one, whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is the cause.
    Cause,
    /// It is not the cause: it is healthy, or its trouble comes from elsewhere.
    NotCause,
}

impl Verdict {
    /// The source of a finding that holds a verdict.
    pub const SOURCE: &'static str = "person";

    /// The trend of a finding that holds it.
    pub fn trend(self) -> Trend {
        match self {
            Self::Cause => Trend::Rising,
            Self::NotCause => Trend::Steady,
        }
    }
}

impl Finding {
    /// The verdict that the finding holds, if it is one of an operator.
    pub fn verdict(&self) -> Option<Verdict> {
        if self.kind != EvidenceKind::Note || self.source != Verdict::SOURCE {
            return None;
        }
        [Verdict::Cause, Verdict::NotCause].into_iter().find(|it| it.trend() == self.trend)
    }
}
