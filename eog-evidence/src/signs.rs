//! What a finding means for its entity, read from its typed fields alone.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{EvidenceKind, Finding};

use crate::shift::{MIN_RELATIVE, is_unit_of_shares};

/// Whether a finding speaks of its entity doing worse than usual.
///
/// More errors, latency, saturation and exhaustion are worse, and so is less output. A resource of which
/// it is known how full it is (`ratio`, `percent`, `%`) does no harm below [`BUSY`], however much more it
/// is used; from [`NEARLY_FULL`] on it is worse, too, where no earlier level is known. Availability given as a share
/// (`ratio`, `percent`, `%`) is worse when it falls, else (failures counted) when it rises.
/// An alert is worse, unless it speaks of traffic or demand: those report load, not harm.
/// Changes and notes are never signs of harm.
pub(crate) fn is_worse(finding: &Finding) -> bool {
    match finding.kind {
        EvidenceKind::Change | EvidenceKind::Note => return false,
        EvidenceKind::Alert => {
            return !matches!(finding.signal, Signal::Traffic | Signal::Demand);
        }
        _ => {}
    }
    let bad = match finding.signal {
        Signal::Errors | Signal::Latency | Signal::Saturation | Signal::Exhaustion => Trend::Rising,
        Signal::Output => Trend::Falling,
        Signal::Availability if is_share(finding) => Trend::Falling,
        Signal::Availability => Trend::Rising,
        _ => return false,
    };
    finding.trend == bad && !is_far_from_full(finding) || is_full_without_past(finding)
}

/// Whether a finding is about a resource that is nearly full, and it is unknown since when.
pub(crate) fn is_full_without_past(finding: &Finding) -> bool {
    let past = finding.quantity.as_ref().and_then(|quantity| quantity.baseline);
    finding.kind == EvidenceKind::Metric && past.is_none() && is_nearly_full(finding)
}

/// From this share of a resource on, waiting for it grows much faster than its use: with random
/// arrivals the time spent is `1 / (1 - utilization)` times that of serving (M/M/1), and utilization
/// above 60 to 70 % begins to matter (Gregg, *Systems Performance*, 2nd ed., §2.3.11, the USE method).
pub(crate) const BUSY: f64 = 0.6;

/// From this share on a resource delays what waits for it fivefold and more (M/M/1 again), and no
/// further load fits in.
pub(crate) const NEARLY_FULL: f64 = 0.8;

/// Whether a finding is about a resource that is far from full.
pub(crate) fn is_far_from_full(finding: &Finding) -> bool {
    use_of(finding).is_some_and(|used| used < BUSY)
}

/// Whether a finding is about a resource of which nearly all is used.
pub(crate) fn is_nearly_full(finding: &Finding) -> bool {
    use_of(finding).is_some_and(|used| used >= NEARLY_FULL)
}

/// How much of a resource is used, from 0 to 1, where that is known.
fn use_of(finding: &Finding) -> Option<f64> {
    let quantity = finding.quantity.as_ref()?;
    share_in_use(finding.signal, &quantity.unit, quantity.observed)
}

/// How much of a resource a value says is used, from 0 to 1, where the unit says what is all of it.
pub(crate) fn share_in_use(signal: Signal, unit: &str, value: f64) -> Option<f64> {
    let whole = match unit {
        "ratio" => 1.0,
        "percent" | "%" => 100.0,
        _ => return None,
    };
    (signal == Signal::Saturation).then_some(value / whole)
}

/// Whether a resource whose use went from one level to another does no harm: less is used, or it is known to be far from
/// full.
pub(crate) fn is_harmless(unit: &str, [before, now]: [f64; 2]) -> bool {
    now <= before || share_in_use(Signal::Saturation, unit, now).is_some_and(|used| used < BUSY)
}

/// Whether a finding speaks of more load coming to its entity.
pub(crate) fn is_surge(finding: &Finding) -> bool {
    is_more_load(finding) && role(finding) != Some(PeerRole::Callee)
}

/// Whether a finding is about more load than usual, between any two entities.
pub(crate) fn is_more_load(finding: &Finding) -> bool {
    finding.signal == Signal::Traffic
        && finding.trend == Trend::Rising
        && !matches!(finding.kind, EvidenceKind::Change | EvidenceKind::Note)
}

/// Half is the majority: who accounts for less of something is not behind it.
pub(crate) const MAJORITY: f64 = 0.5;

/// Rates that are at least half higher count as more.
pub(crate) const MORE: f64 = 1.5;

/// A call that fails is commonly made three times in all (the default of the AWS SDKs; proxies try less
/// often), so that more than three times the usual load holds more demand.
const ATTEMPTS: f64 = 3.0;

/// Whether calls that are tried again can make so many requests of the usual: a tenth of that is no shift.
pub(crate) fn can_be_tried_again(requests: f64, usual: f64) -> bool {
    requests <= (ATTEMPTS + MIN_RELATIVE) * usual
}

/// A difference of requests, or of a share of `requests`, as a number of requests.
pub(crate) fn in_requests(unit: &str, more: f64, requests: f64) -> f64 {
    match unit {
        "ratio" => more * requests,
        "percent" | "%" => more / 100.0 * requests,
        _ => more,
    }
}

/// Whether an event says that a fault experiment ran.
pub(crate) fn is_executed_experiment(finding: &Finding) -> bool {
    finding.kind == EvidenceKind::Event && finding.signal == Signal::Experiment
}

/// Whether a finding is about a change that may explain something: no mere restart.
pub(crate) fn is_real_change(finding: &Finding) -> bool {
    finding.kind == EvidenceKind::Change && finding.signal != Signal::Restart
}

/// The role of the entity that a finding names.
pub(crate) fn role(finding: &Finding) -> Option<PeerRole> {
    finding.peer.as_ref().map(|peer| peer.role)
}

/// The relative size of a measured shift; huge when it rose from nothing, zero without numbers.
pub(crate) fn magnitude(finding: &Finding) -> f64 {
    let Some(quantity) = &finding.quantity else { return 0.0 };
    let Some(baseline) = quantity.baseline else { return 0.0 };
    let share = ((quantity.observed - baseline) / baseline).abs();
    if share.is_nan() { 0.0 } else { share.min(f64::MAX) }
}

/// Whether a finding measures a share of something.
pub(crate) fn is_share(finding: &Finding) -> bool {
    finding.quantity.as_ref().is_some_and(|quantity| is_unit_of_shares(&quantity.unit))
}
