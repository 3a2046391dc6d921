//! Bounds on what an entity can contribute to what alerts show, and the evidence of it that speaks against them: a bound holds
//! for what it was measured by, and for nothing else.

use std::collections::BTreeMap;

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{EvidenceKind, Finding};

use super::subject::Subject;

/// Whether a note says how much its entity can contribute at most. It is steady, as it is no sign of harm itself.
pub(super) fn is_bound(finding: &Finding) -> bool {
    finding.kind == EvidenceKind::Note
        && finding.trend == Trend::Steady
        && finding.peer.is_none()
        && matches!(finding.signal, Signal::Errors | Signal::Latency)
}

/// By the number of each bound: the numbers of what is shown of the same entity and speaks against it.
pub(super) fn against(shown: &[&Finding], subject: &Subject) -> BTreeMap<u32, Vec<u32>> {
    let number = |finding: &Finding| subject.number_of(finding.id());
    let bounds = shown.iter().filter(|finding| is_bound(finding));
    let against = bounds.filter_map(|bound| {
        let others = shown.iter().filter(|other| speaks_against(other, bound));
        Some((number(bound)?, others.filter_map(|other| number(other)).collect()))
    });
    against.collect()
}

/// Whether evidence of an entity shows what its bound does not cover: waiting or slowness by another metric, failures in its log,
/// or a larger part of single bad requests.
fn speaks_against(other: &Finding, bound: &Finding) -> bool {
    if other.entity != bound.entity || other.trend != Trend::Rising {
        return false;
    }
    let is_of = |unit: &str| other.quantity.as_ref().is_some_and(|it| it.unit == unit);
    let is_time = || ["s", "ms", "us", "µs"].into_iter().any(is_of);
    let metric = || other.excerpt.split_whitespace().next().unwrap_or_default();
    match (other.kind, other.signal) {
        (EvidenceKind::Metric, Signal::Latency | Signal::Saturation) => {
            other.peer.is_none() && is_time() && !bound.quotes(metric())
        }
        (EvidenceKind::Log, Signal::Errors | Signal::Availability) => true,
        (EvidenceKind::Note, signal) => {
            let is_of_single_requests =
                other.peer.as_ref().is_some_and(|peer| peer.role == PeerRole::Mentioned);
            let share = |it: &Finding| it.quantity.as_ref().map(|quantity| quantity.observed);
            signal == bound.signal && is_of_single_requests && share(other) > share(bound)
        }
        _ => false,
    }
}
