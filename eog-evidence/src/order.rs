//! In which order the findings of a context are given.

use std::cmp::{Ordering, Reverse};

use eog_core::evidence::{Signal, Trend};
use eog_core::{EvidenceKind, Finding, Timestamp};

use crate::signs::{is_real_change, is_surge, is_worse, magnitude};

/// How significant a finding is, before its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Change,
    Failure,
    Alert,
    GoldenShift,
    OtherShift,
    Log,
    OtherEvent,
    Restart,
    Steady,
}

pub(crate) fn class(finding: &Finding) -> Class {
    let golden = matches!(finding.signal, Signal::Errors | Signal::Latency | Signal::Traffic);
    match finding.kind {
        EvidenceKind::Change if is_real_change(finding) => Class::Change,
        EvidenceKind::Change => Class::Restart,
        EvidenceKind::Alert => Class::Alert,
        EvidenceKind::Event if is_worse(finding) => Class::Failure,
        EvidenceKind::Event => Class::OtherEvent,
        _ if finding.trend == Trend::Steady => Class::Steady,
        EvidenceKind::Log => Class::Log,
        _ if golden && (is_worse(finding) || is_surge(finding)) => Class::GoldenShift,
        _ => Class::OtherShift,
    }
}

/// By class, the larger shift first, then the earlier, then by id. Of changes the latest comes first: it is the nearest to
/// what follows it.
pub fn strongest_first(a: &Finding, b: &Finding) -> Ordering {
    let time = |finding: &Finding| -> (Reverse<Timestamp>, Timestamp) {
        let at = finding.time.start();
        let latest = if class(finding) == Class::Change { at } else { Timestamp::MIN };
        (Reverse(latest), at)
    };
    let size = |finding: &Finding| match class(finding) {
        Class::GoldenShift | Class::OtherShift => magnitude(finding),
        // More and fewer lines than usual count alike.
        Class::Log => finding
            .quantity
            .as_ref()
            .map_or(0.0, |quantity| (quantity.observed - quantity.baseline.unwrap_or(0.0)).abs()),
        _ => 0.0,
    };
    class(a)
        .cmp(&class(b))
        .then_with(|| size(b).total_cmp(&size(a)))
        .then_with(|| time(a).cmp(&time(b)))
        .then_with(|| a.id().cmp(b.id()))
}
