//! An entity of which nothing is known but ways through it, and that would not show harm.

use eog_core::contract::{Proposal, Route};
use eog_core::incident::Direction;
use eog_core::{Claim, ContextPacket, Decision, EntityId, EvidenceId, Label};

use super::silence::is_spoken_of;
use super::{by_rule, is_watched};

/// It carries on what was changed elsewhere, if a neighbour says so, and holds nothing that could speak
/// for or against. Else it says nothing, and the evaluation continues where its ways come from. Findings of
/// others along a way are judged where they were made.
pub(super) fn carries(packet: &ContextPacket) -> Option<Decision> {
    let context = &packet.context;
    let is_way = |id: &EvidenceId| context.routes.iter().any(|route| route.finding == *id);
    let mut own = context.findings.iter().filter(|it| it.entity == packet.entity).peekable();
    let knows_ways_alone = own.peek().is_some() && own.all(|finding| is_way(finding.id()));
    if !knows_ways_alone || is_watched(packet)? || !packet.anomalies.is_empty() {
        return None;
    }
    let mut claims: Vec<Claim> = Vec::new();
    for route in &context.routes {
        let Some(claim) = carried(packet, route) else { continue };
        if claims.iter().all(|known| known.edge() != claim.edge()) {
            claims.push(claim);
        }
    }
    let Some(first) = claims.first() else {
        return (!is_spoken_of(packet)).then(|| follows_back(packet));
    };
    let summary = format!("Carries on what comes from {}: {}", first.cause, first.condition);
    let mut decision = by_rule("carries on", Label::Symptom, &summary);
    decision.evidence = claims.iter().flat_map(|claim| claim.evidence.clone()).collect();
    decision.claims = claims;
    Some(decision)
}

/// The claim of the hop that brings a way here: a neighbour claims that hop or the next one, or the hop
/// before says that the way reached it, where an alert is known right behind.
fn carried(packet: &ContextPacket, route: &Route) -> Option<Claim> {
    let entity = &packet.entity;
    let before = last_hop(packet, route)?;
    let claims = || packet.inbox.iter().flat_map(|message| &message.belief.claims);
    let comes = |claim: &&Claim| claim.cause == *before && claim.effect == *entity;
    let goes = |claim: &&Claim| claim.cause == *entity;
    let claimed = claims()
        .find(comes)
        .or_else(|| claims().find(goes))
        .or_else(|| reached(packet, route, before))?;
    let condition = match claimed.condition.strip_prefix(PASSES_ON) {
        Some(_) => claimed.condition.clone(),
        None if claimed.cause == route.hops[0] && claimed.cause == *before => {
            claimed.condition.clone()
        }
        None => format!("{PASSES_ON}{}", claimed.condition),
    };
    Some(Claim::new(before, entity, condition, "on the way").citing_ids([&route.finding]))
}

/// What the hop before claims of the hop that brings the way to itself, where a neighbour off the way
/// has an alert that the way could lead on to.
fn reached<'p>(packet: &'p ContextPacket, route: &Route, before: &EntityId) -> Option<&'p Claim> {
    let leads_on =
        packet.hints.iter().any(|hint| hint.anomalies > 0 && !route.hops.contains(&hint.entity));
    let said =
        packet.message_from(before).filter(|said| leads_on && said.label == Label::Symptom)?;
    said.claims.iter().find(|claim| claim.effect == *before && route.leads(&claim.cause, before))
}

/// The neighbour that a way comes from, if it ends here.
fn last_hop<'r>(packet: &ContextPacket, route: &'r Route) -> Option<&'r EntityId> {
    let [.., before, last] = route.hops.as_slice() else { return None };
    (*last == packet.entity).then_some(before)
}

fn follows_back(packet: &ContextPacket) -> Decision {
    let summary =
        "Only ways that lead through it are known; what would show harm was not recorded of it.";
    let mut decision = by_rule("ways alone", Label::Defer, summary);
    let mut sources: Vec<&EntityId> = Vec::new();
    for before in packet.context.routes.iter().filter_map(|route| last_hop(packet, route)) {
        if !sources.contains(&before) {
            sources.push(before);
        }
    }
    let propose = |entity: &EntityId| Proposal {
        entity: entity.clone(),
        direction: Direction::Upstream,
        reason: "the way of a change comes from there".to_owned(),
    };
    decision.proposals = sources.into_iter().take(MAX_PROPOSALS).map(propose).collect();
    decision
}

/// As many as an answer may name.
const MAX_PROPOSALS: usize = 2;

/// Begins the condition of an entity that only carries something on.
pub(in super::super) const PASSES_ON: &str = "passes on: ";
