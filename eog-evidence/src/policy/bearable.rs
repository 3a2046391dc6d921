//! Load that an entity bears easily.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{ContextPacket, EvidenceKind, Finding};

use super::times::Delay;
use crate::signs::{MORE, is_far_from_full, is_nearly_full, is_worse, role};

/// Whether an entity that does worse by itself has room for a little more load: how full its resources are is
/// measured, and all of them are far from full or used as ever. What it shows is not due to so little more, which commonly are
/// the calls that its callers try again.
pub(super) fn bears_a_little_more(packet: &ContextPacket, harms: &[&Finding]) -> bool {
    let of_requests = |harm: &&Finding| {
        matches!(harm.signal, Signal::Errors | Signal::Latency)
            && role(harm) != Some(PeerRole::Callee)
    };
    let findings = packet.context.findings.iter();
    let mut used = findings.filter(|finding| {
        finding.kind == EvidenceKind::Metric
            && finding.signal == Signal::Saturation
            && finding.peer.is_none()
    });
    let is_measured = used.clone().next().is_some();
    harms.iter().any(of_requests)
        && is_measured
        && used.all(|one| is_far_from_full(one) || is_as_usual(one))
}

/// Whether a resource is used as ever, and not nearly full.
fn is_as_usual(finding: &Finding) -> bool {
    finding.trend == Trend::Steady && !is_nearly_full(finding)
}

/// Whether a surge is less than half more than usual.
pub(super) fn is_a_little_more(surge: &Finding) -> bool {
    let Some(quantity) = &surge.quantity else { return false };
    quantity.baseline.is_some_and(|usual| usual > 0.0 && quantity.observed < MORE * usual)
}

/// Whether an entity bore a surge well: it came long before the entity did worse.
pub(super) fn was_borne(surge: &Finding, since: Onset) -> bool {
    surge.onset.is_some_and(|came| Delay::to(&came, Some(since), since.earliest()).is_long())
}

/// Whether an entity has filled up one of its resources: work that it cannot do at once may wait there for long.
pub(super) fn fills_up(finding: &Finding) -> bool {
    finding.kind == EvidenceKind::Metric
        && finding.peer.is_none()
        && is_worse(finding)
        && is_nearly_full(finding)
}
