//! What drawn investigations are made of, by number. For the property tests of this workspace.

use eog::evidence::{EvidenceTime, FindingContent, PeerRole, Signal};
use eog::incident::EffectDirection;
use eog::{
    Anomaly, Digest, EntityId, EvidenceId, EvidenceKind, Finding, Label, Timestamp, Topology,
    Window,
};
use proptest::prelude::*;

/// An id that no finding has.
pub fn ghost() -> EvidenceId {
    EvidenceId::try_from("nte-00000000000000000000".to_owned()).expect("is well formed")
}

/// A number that depends on nothing but the value.
pub fn hash(value: &impl serde::Serialize) -> u64 {
    let digits: String = Digest::of(value).to_string().chars().take(16).collect();
    u64::from_str_radix(&digits, 16).expect("a digest is hexadecimal")
}

/// The entity of this number: `e0`, `e1`, and so on.
pub fn name(position: usize) -> EntityId {
    EntityId::new(format!("e{position}")).expect("is a name")
}

/// This minute of the hour.
pub fn at(minute: u8) -> Timestamp {
    format!("2026-01-01T10:{minute:02}:00Z").parse().expect("is a time")
}

/// The hour, without its last minute.
pub fn window() -> Window {
    Window::new(at(0), at(59)).expect("is not empty")
}

/// A finding that says nothing but its kind, its minute and its query.
pub fn finding(entity: &EntityId, kind: EvidenceKind, minute: u8, query: &str) -> Finding {
    finding_about(entity, kind, minute, query, None)
}

/// The same, naming another entity.
pub fn finding_about(
    entity: &EntityId,
    kind: EvidenceKind,
    minute: u8,
    query: &str,
    peer: Option<EntityId>,
) -> Finding {
    let time = EvidenceTime::At(at(minute));
    let content =
        FindingContent::new(entity.clone(), kind, Signal::Other, time).from_source("world", query);
    let named = |content: FindingContent, peer| content.with_peer(peer, PeerRole::Mentioned);
    peer.into_iter().fold(content, named).into()
}

/// An alert that is named after its minute.
pub fn anomaly(entity: EntityId, minute: u8) -> Anomaly {
    Anomaly::new(format!("at {minute}"), entity, Signal::Errors, at(minute))
}

/// A topology over `e0` to `e(size - 1)` with these edges, cycles and self-loops among them.
pub fn topology(size: usize, edges: &[(usize, usize, u8)]) -> Topology {
    let mut topology = Topology::default();
    for position in 0..size {
        topology.add_entity(name(position));
    }
    for (source, target, kind) in edges {
        let effects = match kind {
            0 => EffectDirection::SourceToTarget,
            1 => EffectDirection::TargetToSource,
            _ => EffectDirection::Both,
        };
        topology.connect(&name(*source), "calls", &name(*target), effects);
    }
    topology
}

/// Edges for [`topology`].
pub fn edges(size: usize) -> impl Strategy<Value = Vec<(usize, usize, u8)>> {
    prop::collection::vec((0..size, 0..size, 0..3u8), 0..2 * size)
}

/// A label; those that say something is wrong come twice as often.
pub fn labels() -> impl Strategy<Value = Label> {
    prop::sample::select(vec![
        Label::Healthy,
        Label::Symptom,
        Label::Symptom,
        Label::Origin,
        Label::Origin,
        Label::Defer,
    ])
}
