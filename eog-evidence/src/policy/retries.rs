//! Calls that are tried again.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{EvidenceKind, Finding};

use super::times::surely_before;
use crate::signs::{can_be_tried_again, is_share, role, surplus};

/// Whether more load can be calls that are tried again because they failed here: no more came than failed,
/// and not surely before. In all they are so many times as many as one caller tries, unless the entity uses less of a
/// resource while more is asked of it: then it is not the load that it fails by, and callers of callers try again, too.
pub(super) fn may_be_tried_again(surge: &Finding, harms: &[&Finding], uses_less: bool) -> bool {
    let Some(quantity) = &surge.quantity else { return false };
    let requests = quantity.observed;
    let by_one = |usual: f64| uses_less || can_be_tried_again(requests, usual);
    let bounded = quantity.baseline.is_some_and(by_one);
    let Some(more) = surplus(surge, requests).filter(|_| bounded) else { return false };
    let failed = |harm: &&&Finding| {
        let unit = harm.quantity.as_ref().map(|failed| &failed.unit);
        harm.signal == Signal::Errors
            && harm.kind == EvidenceKind::Metric
            && role(harm) != Some(PeerRole::Callee)
            && (unit == Some(&quantity.unit) || is_share(harm))
    };
    let came_before = |harm: &Finding| matches!((surge.onset, harm.onset), (Some(surge), Some(harm)) if surely_before(&surge, &harm));
    harms.iter().filter(failed).any(|harm| {
        !came_before(harm) && surplus(harm, requests).is_some_and(|failed| failed >= more)
    })
}

/// Whether an entity is measured to use less of a resource of its own.
pub(super) fn uses_less(finding: &Finding) -> bool {
    (finding.kind, finding.signal, finding.trend)
        == (EvidenceKind::Metric, Signal::Saturation, Trend::Falling)
        && finding.peer.is_none()
}
