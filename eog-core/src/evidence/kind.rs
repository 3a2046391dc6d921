//! The kinds of evidence.

use serde::{Deserialize, Serialize};

/// What kind of record a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EvidenceKind {
    /// Something was changed: configuration, deployment, resources, planned demand.
    Change,
    /// Something happened: a failure, a restart, a scheduling decision.
    Event,
    /// A shift or level of a measured series.
    Metric,
    /// A log line or a pattern of log lines.
    Log,
    /// A shift in traced requests.
    Span,
    /// An alert that fired.
    Alert,
    /// Knowledge of the source beside measurements, such as a path in the topology.
    Note,
}

impl EvidenceKind {
    /// The kind in one word, as it is serialized.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Event => "event",
            Self::Metric => "metric",
            Self::Log => "log",
            Self::Span => "span",
            Self::Alert => "alert",
            Self::Note => "note",
        }
    }

    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Change => "chg",
            Self::Event => "evt",
            Self::Metric => "met",
            Self::Log => "log",
            Self::Span => "spn",
            Self::Alert => "alr",
            Self::Note => "nte",
        }
    }

    pub(crate) fn from_code(code: &str) -> Option<Self> {
        [Self::Change, Self::Event, Self::Metric, Self::Log, Self::Span, Self::Alert, Self::Note]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}
