//! Who sends more load, and whom this entity's load exhausted.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{Claim, Decision, EntityId, EvidenceKind, Finding, Label};

use super::answer::{claim, quote};
use super::facts::{Facts, begun_by};
use super::rules::{source_of_demand, traffic_amplification};
use super::times::surely_before;

/// At most this many senders of load, and as many exhausted callees, are claimed.
const MAX_SENDERS: usize = 3;

/// A sender counts when its increase is at least this share of the greatest.
const SENDER_SHARE: f64 = 0.5;

/// Claims that this entity's load explains each callee that it exhausted.
pub(super) fn claim_exhausted_callees(mut decision: Decision, facts: &Facts<'_>) -> Decision {
    for callee in facts.exhausted_callees().into_iter().take(MAX_SENDERS) {
        let Some(surge) = evidence_of_load_on(callee, facts) else { continue };
        let Some(belief) = facts.message(callee) else { continue };
        let observed = crate::text::shorten(&belief.summary, 160);
        let ids = std::iter::once(surge.id()).chain(&belief.evidence);
        let added = claim((facts.entity, callee), quote(surge), observed, ids);
        if decision.claims.iter().all(|known| known.edge() != added.edge()) {
            decision = decision.claiming(added);
        }
    }
    decision
}

/// Traffic sent to the callee if that was measured, else what came in.
fn evidence_of_load_on<'a>(callee: &EntityId, facts: &Facts<'a>) -> Option<&'a Finding> {
    let sent = facts.findings().iter().find(|finding| {
        finding.signal == Signal::Traffic
            && finding.trend == Trend::Rising
            && is_peer(finding, callee, PeerRole::Callee)
    });
    sent.or_else(|| facts.surges.first().copied())
}

/// An entity that sends more load, and how that is known.
pub(super) struct Sender<'a> {
    pub(super) entity: &'a EntityId,
    pub(super) condition: String,
    pub(super) findings: Vec<&'a Finding>,
    /// The sender's own claim, when it is known from its message.
    said: Option<&'a Claim>,
}

impl Sender<'_> {
    pub(super) fn claim(
        &self,
        facts: &Facts<'_>,
        suffering: Option<&Finding>,
        observed: &str,
    ) -> Claim {
        let own = self.findings.iter().copied().chain(suffering).map(Finding::id);
        let said = self.said.into_iter().flat_map(|claim| &claim.evidence);
        // An entity that suffers nothing itself passes on what its accusers saw.
        let accusers = facts.accusations.iter().flat_map(|(_, claim)| &claim.evidence);
        let passed_on = accusers.filter(|_| suffering.is_none());
        let ids = own.chain(said).chain(passed_on);
        claim((self.entity, facts.entity), self.condition.clone(), observed, ids)
    }
}

/// Who is known to send more, by the best source that tells.
pub(super) fn senders<'a>(facts: &Facts<'a>) -> Vec<Sender<'a>> {
    let measured = measured_senders(facts);
    if !measured.is_empty() {
        return measured;
    }
    let by_change = sender_by_change_of_demand(facts);
    if !by_change.is_empty() {
        return by_change;
    }
    let passing_on = senders_that_pass_it_on(facts);
    if !passing_on.is_empty() {
        return passing_on;
    }
    senders_by_their_word(facts)
}

/// Callers whose measured traffic rose, greatest increase first; small ones left out.
fn measured_senders<'a>(facts: &Facts<'a>) -> Vec<Sender<'a>> {
    let mut found: Vec<(&EntityId, f64, &Finding)> = Vec::new();
    for surge in facts.early_surges() {
        let caller = surge.peer.as_ref().filter(|peer| peer.role == PeerRole::Caller);
        let Some(caller) = caller.filter(|peer| peer.entity != *facts.entity) else { continue };
        if found.iter().all(|(known, _, _)| **known != caller.entity) {
            found.push((&caller.entity, increase(surge), surge));
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let greatest = found.first().map_or(0.0, |(_, increase, _)| *increase);
    found
        .into_iter()
        .filter(|(_, increase, _)| *increase >= SENDER_SHARE * greatest)
        .take(MAX_SENDERS)
        .map(|(entity, _, surge)| Sender {
            entity,
            condition: quote(surge),
            findings: vec![surge],
            said: None,
        })
        .collect()
}

fn increase(surge: &Finding) -> f64 {
    let of = |quantity: &eog_core::evidence::Quantity| {
        quantity.observed - quantity.baseline.unwrap_or(0.0)
    };
    surge.quantity.as_ref().map_or(0.0, of)
}

/// The next hop towards a change of demand, when the entity's own traffic rose.
fn sender_by_change_of_demand<'a>(facts: &Facts<'a>) -> Vec<Sender<'a>> {
    let surge = facts.early_surges().first().copied();
    let route = facts.demand_routes.first().copied();
    let (Some(surge), Some(route)) = (surge, route) else { return Vec::new() };
    let peer = route.peer.as_ref().filter(|_| begun_by(surge) >= route.time.start());
    let sender = peer.map(|peer| Sender {
        entity: &peer.entity,
        condition: quote(route),
        findings: vec![surge, route],
        said: None,
    });
    sender.into_iter().collect()
}

/// Callers that say more is asked of them than usual, when the same holds here: they pass it on. Calls
/// that are tried again come of failures, and nobody who sends more is known then.
fn senders_that_pass_it_on<'a>(facts: &Facts<'a>) -> Vec<Sender<'a>> {
    let Some(surge) = facts.early_surges().first().copied() else { return Vec::new() };
    let callers = facts.callers().into_iter().filter_map(|caller| {
        let belief = facts.message(caller)?;
        let passes_on = belief.rule.as_deref().is_some_and(|rule| {
            [traffic_amplification::RULE.name, source_of_demand::RULE.name].contains(&rule)
        });
        let in_time = !matches!((belief.since, surge.onset), (Some(since), Some(surge))
            if surely_before(&surge, &since) && belief.label == Label::Origin);
        (passes_on && in_time).then(|| Sender {
            entity: caller,
            condition: crate::text::shorten(&belief.summary, 160),
            findings: vec![surge],
            said: None,
        })
    });
    callers.take(MAX_SENDERS).collect()
}

/// Callers that say their load explains this entity's failure, unless measured traffic says no.
fn senders_by_their_word<'a>(facts: &Facts<'a>) -> Vec<Sender<'a>> {
    if facts.overloaded_since().is_none() {
        return Vec::new();
    }
    let claims = facts
        .packet
        .inbox
        .iter()
        .flat_map(|message| message.belief.claims.iter().map(|claim| (&message.sender, claim)));
    claims
        .filter(|(sender, claim)| claim.cause == **sender && claim.effect == *facts.entity)
        .filter(|(sender, _)| facts.is_called_by(sender) && !contradicted(sender, facts))
        .filter(|(_, claim)| rests_on_traffic(claim))
        .take(MAX_SENDERS)
        .map(|(sender, claim)| Sender {
            entity: sender,
            condition: claim.condition.clone(),
            findings: Vec::new(),
            said: Some(claim),
        })
        .collect()
}

fn rests_on_traffic(claim: &Claim) -> bool {
    let measured = |kind| matches!(kind, EvidenceKind::Metric | EvidenceKind::Span);
    claim.evidence.iter().any(|id| measured(id.kind()))
}

/// Whether measured traffic, in all or from this caller, did not rise.
fn contradicted(caller: &EntityId, facts: &Facts<'_>) -> bool {
    facts.findings().iter().any(|finding| {
        let counted = finding.signal == Signal::Traffic && finding.trend != Trend::Rising;
        let about = finding.peer.is_none() || is_peer(finding, caller, PeerRole::Caller);
        counted && about && !matches!(finding.kind, EvidenceKind::Change | EvidenceKind::Note)
    })
}

fn is_peer(finding: &Finding, entity: &EntityId, role: PeerRole) -> bool {
    finding.peer.as_ref().is_some_and(|peer| peer.entity == *entity && peer.role == role)
}
