//! Well-formed answers without sense.

use eog::contract::CandidateScore;
use eog::incident::Direction;
use eog::{Claim, ContextPacket, Decision, EntityId, EvidenceId, Label, Proposal};

use crate::findings::finding;
use crate::names::entity;
use crate::random::Stream;

const LABELS: [Label; 4] = [Label::Healthy, Label::Symptom, Label::Origin, Label::Defer];

/// An id that no finding has.
pub(super) fn evidence(draw: &mut Stream) -> EvidenceId {
    finding("invented").query(&format!("{:016x}", draw.bits())).build().id().clone()
}

/// An unknown entity.
pub(super) fn stranger(draw: &mut Stream) -> EntityId {
    entity(&format!("nowhere-{:08x}", draw.below(1 << 32)))
}

/// A claim with invented evidence.
pub(super) fn claim(cause: &EntityId, effect: &EntityId, draw: &mut Stream) -> Claim {
    Claim::new(cause, effect, "it is said to fail", "it is said to suffer")
        .citing_ids(&[evidence(draw)])
}

/// Proposals of unknown entities and of the entity itself.
pub(super) fn proposals(packet: &ContextPacket, draw: &mut Stream) -> Vec<Proposal> {
    let propose = |entity| Proposal {
        entity,
        direction: Direction::Upstream,
        reason: "for no reason".to_owned(),
    };
    let count = draw.between(1, 6);
    let strangers = (0..count).map(|_| stranger(draw));
    strangers.chain([packet.entity.clone()]).map(propose).collect()
}

/// A label, another one than this if one is given.
pub(super) fn label(other_than: Option<Label>, draw: &mut Stream) -> Label {
    let labels: Vec<Label> = LABELS.into_iter().filter(|l| Some(*l) != other_than).collect();
    *draw.pick(&labels).unwrap_or(&Label::Defer)
}

/// A decision that breaks as many rules as it can: any label, endless words, invented evidence,
/// claims on itself, between others, on strangers and on outside systems, proposals of strangers, scores beyond their
/// range.
pub(super) fn decision(packet: &ContextPacket, draw: &mut Stream) -> Decision {
    let own = packet.entity.clone();
    let mut decision = Decision::new(label(None, draw), "blah ".repeat(draw.position(1_000)));
    decision.evidence = (0..draw.below(4)).map(|_| evidence(draw)).collect();
    let others: Vec<EntityId> = packet.neighbours.iter().map(|n| n.entity.clone()).collect();
    let pairs = [
        (own.clone(), own.clone()),
        (stranger(draw), own.clone()),
        (draw.pick(&others).unwrap_or(&own).clone(), stranger(draw)),
        (draw.pick(&others).unwrap_or(&own).clone(), draw.pick(&others).unwrap_or(&own).clone()),
        (draw.pick(&others).unwrap_or(&own).clone(), own.clone()),
    ];
    // Every other one calls its cause an outside system: of the stranger nothing says so, and a neighbour is none.
    let claims = pairs.into_iter().zip([false, true].into_iter().cycle());
    decision.claims = claims
        .map(|((cause, effect), outside)| Claim { outside, ..claim(&cause, &effect, draw) })
        .collect();
    decision.proposals = proposals(packet, draw);
    decision.scores = vec![CandidateScore { entity: stranger(draw), score: u16::MAX }];
    decision
}
