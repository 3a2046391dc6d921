//! Questions whose answer is plain from their packet alone. They are not put to a model: it could say
//! nothing else, and each question costs a request.

use eog_core::belief::Belief;
use eog_core::contract::Route;
use eog_core::{Claim, ContextPacket, Decision, EntityId, EvidenceId, EvidenceKind, Label};

/// Most findings beside which the next page is shown unasked. Half of a page: what two pages hold
/// then seldom exceeds what one may.
const MAX_BESIDE: usize = 12;

/// The decision that a packet leaves no choice about, if there is one.
pub(crate) fn decision(packet: &ContextPacket) -> Option<Decision> {
    // Whoever is asked for a second opinion, or to find what was overlooked, is to give one.
    if packet.notice.is_some() {
        return None;
    }
    if packet.context.pages_left > 0 {
        return next_page(packet);
    }
    confirmed(packet).or_else(|| carries(packet)).or_else(|| silent(packet))
}

/// The changes and events of dependencies, where there is room for them beside the own findings. Pages
/// once given stay, so that this is asked once, and no limit on pages refuses it.
fn next_page(packet: &ContextPacket) -> Option<Decision> {
    let findings = &packet.context.findings;
    let are_own = findings.iter().all(|finding| finding.entity == packet.entity);
    (are_own && findings.len() <= MAX_BESIDE).then(|| Decision {
        next_page: true,
        ..by_rule(
            "next page",
            Label::Defer,
            "Not judged yet: there is room for the next page beside this one.",
        )
    })
}

/// What was believed before, where all that is new agrees with it: an origin that the belief names
/// shows the change that makes it one, or a neighbour says that it cannot tell. An origin that only
/// failed does not agree: its failure may be an effect of what is known here.
fn confirmed(packet: &ContextPacket) -> Option<Decision> {
    let former = packet.former.as_ref()?;
    let Belief { label, claims, .. } = &former.belief;
    let agrees = |sender: &EntityId| {
        packet.message_from(sender).is_some_and(|said| {
            let is_named =
                claims.iter().any(|it| it.cause == *sender && it.effect == packet.entity);
            let shows_change = packet.quoted.iter().any(|finding| {
                finding.kind == EvidenceKind::Change
                    && finding.entity == *sender
                    && said.evidence.contains(finding.id())
            });
            let is_origin = said.label == Label::Origin && shows_change;
            *label == Label::Symptom && is_named && is_origin || says_nothing(said)
        })
    };
    (!former.heard.is_empty() && former.heard.iter().all(agrees)).then(|| again(&former.belief))
}

fn says_nothing(belief: &Belief) -> bool {
    belief.label == Label::Defer && belief.claims.is_empty() && belief.evidence.is_empty()
}

/// A belief as a decision, without what led to it: it looks nowhere anew.
fn again(belief: &Belief) -> Decision {
    let Belief { label, summary, evidence, claims, since, explains, .. } = belief.clone();
    let rule = Some("as before".to_owned());
    Decision { evidence, claims, since, explains, rule, ..Decision::new(label, summary) }
}

/// An entity of which nothing is known but a way through it that a neighbour already claims: it
/// carries on what was changed elsewhere, and holds nothing that could speak for or against.
fn carries(packet: &ContextPacket) -> Option<Decision> {
    let context = &packet.context;
    let is_way = |id: &EvidenceId| context.routes.iter().any(|route| route.finding == *id);
    let knows_ways_alone =
        !context.findings.is_empty() && context.findings.iter().all(|finding| is_way(finding.id()));
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
    let first = claims.first()?;
    let summary = format!("Carries on what comes from {}: {}", first.cause, first.condition);
    let mut decision = by_rule("carries on", Label::Symptom, &summary);
    decision.evidence = claims.iter().flat_map(|claim| claim.evidence.clone()).collect();
    decision.claims = claims;
    Some(decision)
}

/// The claim of the hop that brings a way here, if a neighbour claims that hop or the next one.
fn carried(packet: &ContextPacket, route: &Route) -> Option<Claim> {
    let entity = &packet.entity;
    let [.., before, last] = route.hops.as_slice() else { return None };
    if last != entity {
        return None;
    }
    let claims = packet.inbox.iter().flat_map(|message| &message.belief.claims);
    let comes = |claim: &&Claim| claim.cause == *before && claim.effect == *entity;
    let goes = |claim: &&Claim| claim.cause == *entity;
    let claimed = claims.clone().find(comes).or_else(|| claims.clone().find(goes))?;
    let condition = match claimed.condition.strip_prefix(PASSES_ON) {
        Some(_) => claimed.condition.clone(),
        None if claimed.cause == route.hops[0] => claimed.condition.clone(),
        None => format!("{PASSES_ON}{}", claimed.condition),
    };
    Some(Claim::new(before, entity, condition, "on the way").citing_ids([&route.finding]))
}

/// What stands before the condition of who only carries something on.
pub(super) const PASSES_ON: &str = "passes on: ";

/// An entity in which nothing stands out, and of which nobody claims anything: if harm would have
/// been recorded, its silence speaks for it, else it tells nothing.
fn silent(packet: &ContextPacket) -> Option<Decision> {
    let touches = |claim: &Claim| [&claim.cause, &claim.effect].contains(&&packet.entity);
    let is_spoken_of = packet.inbox.iter().any(|message| message.belief.claims.iter().any(touches));
    let context = &packet.context;
    if is_spoken_of || !context.findings.is_empty() || !packet.anomalies.is_empty() {
        return None;
    }
    Some(if is_watched(packet)? {
        by_rule(
            "nothing stands out",
            Label::Healthy,
            "In what was recorded of it, nothing stands out.",
        )
    } else {
        by_rule(
            "nothing recorded",
            Label::Defer,
            "Evidence is absent: what would show harm was not recorded of it.",
        )
    })
}

/// A decision that names what decided in place of a model.
fn by_rule(rule: &str, label: Label, summary: &str) -> Decision {
    Decision { rule: Some(rule.to_owned()), ..Decision::new(label, summary) }
}

/// Whether what would tell of harm was recorded of the entity; nothing if the source cannot say.
fn is_watched(packet: &ContextPacket) -> Option<bool> {
    let coverage = packet.context.coverage.as_ref()?;
    let telling = [EvidenceKind::Metric, EvidenceKind::Log, EvidenceKind::Span];
    Some(coverage.own.iter().any(|kind| telling.contains(kind)))
}
