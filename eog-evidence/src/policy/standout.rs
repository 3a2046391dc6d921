//! Whether a finding stands out in an incident as a whole, and how much.

use eog_core::{EvidenceKind, Finding};

use super::numbers::in_harm;
use super::observation::Observation;

/// What a finding that stands out tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standout {
    /// A change.
    Change,
    /// A failure, or an experiment that ran.
    Failure,
    /// A quantity that is not as usual.
    Deviation,
    /// Lines that are new, or more than usual.
    Lines,
    /// What the entity does to others: load, contention, held requests.
    Effect,
}

/// What a finding tells, with a size that is comparable within its kind; nothing where it does not stand out.
pub(crate) fn standout(finding: &Finding) -> Option<(Standout, f64)> {
    let what = Observation::of(finding);
    Some(match what {
        Observation::Change => (Standout::Change, 0.0),
        Observation::Failure { .. } | Observation::Experiment => {
            (Standout::Failure, finding.time.end().as_second() as f64)
        }
        Observation::Worse(_, size) => (Standout::Deviation, in_harm(&what).max(size)),
        Observation::MoreLoad(size) | Observation::SendsMore(size) => (Standout::Deviation, size),
        Observation::ErrorLines { size, .. } | Observation::FirstErrors(size) => {
            (Standout::Lines, size)
        }
        Observation::Contention | Observation::HoldsUpCallers => (Standout::Effect, 1.0),
        Observation::EndsRequests(size) => (Standout::Effect, size),
        Observation::EarlyDeviation => (Standout::Effect, 0.5),
        _ if finding.kind == EvidenceKind::Log
            && finding.trend == eog_core::evidence::Trend::Rising =>
        {
            (Standout::Lines, 0.0)
        }
        _ => return None,
    })
}
