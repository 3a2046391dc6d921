//! Whether a finding stands out in an incident as a whole, and how much.

use eog_core::evidence::{Signal, Trend};
use eog_core::{EvidenceKind, Finding};

use super::numbers::in_harm;
use super::observation::Observation;

/// What a finding that stands out is about.
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

/// Whether lines are errors, more than usual, or not in the baseline.
fn is_new_or_worse(lines: &Finding) -> bool {
    let is_new = lines.quantity.as_ref().is_some_and(|quantity| quantity.baseline == Some(0.0));
    lines.signal == Signal::Errors || lines.trend == Trend::Rising || is_new
}

/// Whether a finding is about a change, a failure, a quantity or lines that are not as usual, what the entity does to others, how
/// a change elsewhere may reach it, or what a person says: not what is as usual, nor what restates others.
pub fn stands_out(finding: &Finding) -> bool {
    let restates = matches!(
        Observation::of(finding),
        Observation::Nothing | Observation::AsUsual(..) | Observation::Recovered
    );
    standout(finding).is_some() || !restates
}

/// What a finding is about, with a size that is comparable within its kind; nothing where it does not stand out.
pub(crate) fn standout(finding: &Finding) -> Option<(Standout, f64)> {
    let what = Observation::of(finding);
    Some(match what {
        Observation::Change => (Standout::Change, 0.0),
        Observation::Failure { .. } | Observation::Experiment => {
            (Standout::Failure, finding.time.end().as_second() as f64)
        }
        Observation::Worse(_, size) => (Standout::Deviation, in_harm(&what).max(size)),
        Observation::MoreLoad(size) | Observation::SendsMore(size) => (Standout::Deviation, size),
        Observation::MoreDemand(_) => (Standout::Deviation, 0.3),
        Observation::ErrorLines { size, .. } | Observation::FirstErrors(size) => {
            (Standout::Lines, size)
        }
        Observation::Contention | Observation::HoldsUpCallers => (Standout::Effect, 1.0),
        Observation::EndsRequests(size) => (Standout::Effect, size),
        // A variable that is in a new state; of events each kind is new where few are recorded.
        Observation::EarlyDeviation if finding.kind != EvidenceKind::Event => {
            (Standout::Deviation, 0.05)
        }
        _ if finding.kind == EvidenceKind::Log && is_new_or_worse(finding) => {
            (Standout::Lines, 0.5)
        }
        _ => return None,
    })
}
