//! The local evidence of one entity, by its role. See the module for what each finding means.

use eog_core::evidence::{
    ChangeDetail, EvidenceTime, FindingContent, Peer, PeerRole, Quantity, Signal, Trend,
};
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp, Window};

use crate::random::Stream;

/// The signals that every entity is measured by.
pub const MEASURED: [Signal; 2] = [Signal::Errors, Signal::Latency];

/// A change of one field: the breaking one of an origin, or a decoy.
pub(super) fn change(entity: &EntityId, at: Timestamp, draw: &mut Stream) -> Finding {
    let fields = [("pool.size", "50"), ("timeout", "2s"), ("image", "1.4.0"), ("replicas", "3")];
    let (field, old) = fields[draw.position(fields.len())];
    let new = format!("{old}-{:04x}", draw.below(1 << 16));
    Finding::new(FindingContent {
        kind: EvidenceKind::Change,
        signal: Signal::Configuration,
        time: EvidenceTime::At(at),
        change: Some(ChangeDetail {
            path: field.to_owned(),
            old: Some(old.to_owned()),
            new: Some(new.clone()),
        }),
        excerpt: format!("{field} was changed from {old} to {new}"),
        ..blank(entity, "changes", format!("entity={entity} field={field}"))
    })
}

/// Calls to a callee fail, or are slow.
pub(super) fn bad_calls(
    entity: &EntityId,
    callee: &EntityId,
    signal: Signal,
    during: Window,
    draw: &mut Stream,
) -> Finding {
    Finding::new(FindingContent {
        kind: EvidenceKind::Span,
        signal,
        trend: Trend::Rising,
        time: EvidenceTime::During(during),
        quantity: Some(raised(signal, draw)),
        peer: Some(Peer { entity: callee.clone(), role: PeerRole::Callee }),
        excerpt: format!("calls to {callee}: {} went up", words(signal)),
        ..blank(entity, "spans", format!("caller={entity} callee={callee}"))
    })
}

/// Its own error ratio or latency went up.
pub fn raised_metric(
    entity: &EntityId,
    signal: Signal,
    during: Window,
    draw: &mut Stream,
) -> Finding {
    Finding::new(FindingContent {
        trend: Trend::Rising,
        quantity: Some(raised(signal, draw)),
        excerpt: format!("{} went up", words(signal)),
        ..metric(entity, signal, during)
    })
}

/// Its own error ratio or latency is as always.
pub fn normal_metric(entity: &EntityId, signal: Signal, during: Window) -> Finding {
    let (usual, unit) = usual(signal);
    let quantity = Quantity { observed: usual, baseline: Some(usual), unit: unit.to_owned() };
    Finding::new(FindingContent {
        quantity: Some(quantity),
        excerpt: format!("{} is as always", words(signal)),
        ..metric(entity, signal, during)
    })
}

/// A remark that says nothing about health.
pub fn note(entity: &EntityId, at: Timestamp, text: String) -> Finding {
    Finding::new(FindingContent {
        kind: EvidenceKind::Note,
        time: EvidenceTime::At(at),
        excerpt: text,
        ..blank(entity, "notes", format!("entity={entity}"))
    })
}

fn metric(entity: &EntityId, signal: Signal, during: Window) -> FindingContent {
    FindingContent {
        kind: EvidenceKind::Metric,
        signal,
        time: EvidenceTime::During(during),
        ..blank(entity, "metrics", format!("entity={entity} metric={}", words(signal)))
    }
}

fn blank(entity: &EntityId, source: &str, query: String) -> FindingContent {
    FindingContent {
        entity: entity.clone(),
        kind: EvidenceKind::Event,
        signal: Signal::Other,
        trend: Trend::Steady,
        time: EvidenceTime::At(Timestamp::UNIX_EPOCH),
        quantity: None,
        change: None,
        peer: None,
        source: source.to_owned(),
        query,
        excerpt: String::new(),
        onset: None,
    }
}

fn raised(signal: Signal, draw: &mut Stream) -> Quantity {
    let (usual, unit) = usual(signal);
    let factor = draw.between(5, 200) as f64;
    Quantity { observed: usual * factor, baseline: Some(usual), unit: unit.to_owned() }
}

fn usual(signal: Signal) -> (f64, &'static str) {
    if signal == Signal::Errors { (0.002, "ratio") } else { (20.0, "ms") }
}

fn words(signal: Signal) -> &'static str {
    if signal == Signal::Errors { "error_ratio" } else { "latency" }
}
