//! The local evidence of one entity, by its role. See the module for what each finding means.

use eog_core::evidence::{EvidenceTime, FindingContent, PeerRole, Signal};
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};

use crate::random::Stream;

/// The signals that every entity is measured by.
pub const MEASURED: [Signal; 2] = [Signal::Errors, Signal::Latency];

/// A change of one field: the breaking one of an origin, or a decoy.
pub(super) fn change(entity: &EntityId, at: Timestamp, draw: &mut Stream) -> Finding {
    let fields = [("pool.size", "50"), ("timeout", "2s"), ("image", "1.4.0"), ("replicas", "3")];
    let (field, old) = fields[draw.position(fields.len())];
    let new = format!("{old}-{:04x}", draw.below(1 << 16));
    let time = EvidenceTime::At(at);
    FindingContent::new(entity.clone(), EvidenceKind::Change, Signal::Configuration, time)
        .with_change(field, Some(old.to_owned()), Some(new.clone()))
        .from_source("changes", format!("entity={entity} field={field}"))
        .with_excerpt(format!("{field} was changed from {old} to {new}"))
        .into()
}

/// Calls to a callee fail, or are slow.
pub(super) fn bad_calls(
    entity: &EntityId,
    callee: &EntityId,
    signal: Signal,
    during: Window,
    draw: &mut Stream,
) -> Finding {
    let time = EvidenceTime::During(during);
    let calls = FindingContent::new(entity.clone(), EvidenceKind::Span, signal, time)
        .with_peer(callee.clone(), PeerRole::Callee)
        .from_source("spans", format!("caller={entity} callee={callee}"))
        .with_excerpt(format!("calls to {callee}: {} went up", words(signal)));
    raised(calls, draw)
}

/// Its own error ratio or latency went up.
pub fn raised_metric(
    entity: &EntityId,
    signal: Signal,
    during: Window,
    draw: &mut Stream,
) -> Finding {
    let excerpt = format!("{} went up", words(signal));
    raised(metric(entity, signal, during).with_excerpt(excerpt), draw)
}

/// Its own error ratio or latency is as always.
pub fn normal_metric(entity: &EntityId, signal: Signal, during: Window) -> Finding {
    let (usual, unit) = usual(signal);
    let excerpt = format!("{} is as always", words(signal));
    let metric = metric(entity, signal, during).with_quantity(usual, Some(usual), unit);
    metric.with_excerpt(excerpt).into()
}

/// A remark that says nothing about health.
pub fn note(entity: &EntityId, at: Timestamp, text: String) -> Finding {
    FindingContent::new(entity.clone(), EvidenceKind::Note, Signal::Other, EvidenceTime::At(at))
        .from_source("notes", format!("entity={entity}"))
        .with_excerpt(text)
        .into()
}

fn metric(entity: &EntityId, signal: Signal, during: Window) -> FindingContent {
    let time = EvidenceTime::During(during);
    FindingContent::new(entity.clone(), EvidenceKind::Metric, signal, time)
        .from_source("metrics", format!("entity={entity} metric={}", words(signal)))
}

fn raised(content: FindingContent, draw: &mut Stream) -> Finding {
    let (usual, unit) = usual(content.signal);
    let observed = usual * draw.between(5, 200) as f64;
    content.with_quantity(observed, Some(usual), unit).into()
}

fn usual(signal: Signal) -> (f64, &'static str) {
    if signal == Signal::Errors { (0.002, "ratio") } else { (20.0, "ms") }
}

fn words(signal: Signal) -> &'static str {
    if signal == Signal::Errors { "error_ratio" } else { "latency" }
}
