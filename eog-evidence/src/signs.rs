//! What a finding means for its entity, read from its typed fields alone.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{EvidenceKind, Finding};

/// Whether a finding speaks of its entity doing worse than usual.
///
/// More errors, latency, saturation and exhaustion are worse, and so is less output. Availability given as a share
/// (`ratio`, `percent`, `%`) is worse when it falls, else (failures counted) when it rises.
/// An alert is worse, unless it speaks of traffic or demand: those tell of load, not of harm.
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
    finding.trend == bad
}

/// Whether a finding speaks of more load coming to its entity.
pub(crate) fn is_surge(finding: &Finding) -> bool {
    finding.signal == Signal::Traffic
        && finding.trend == Trend::Rising
        && !matches!(finding.kind, EvidenceKind::Change | EvidenceKind::Note)
        && role(finding) != Some(PeerRole::Callee)
}

/// Whether an event says that a fault experiment ran.
pub(crate) fn is_executed_experiment(finding: &Finding) -> bool {
    finding.kind == EvidenceKind::Event && finding.signal == Signal::Experiment
}

/// Whether a finding tells of a change that may explain something: no mere restart.
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

fn is_share(finding: &Finding) -> bool {
    let unit = finding.quantity.as_ref().map(|quantity| quantity.unit.as_str());
    matches!(unit, Some("ratio" | "percent" | "%"))
}
