//! Rules about load: who sends more, and where more demand enters.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::incident::Direction;
use eog_core::{Claim, Decision, EntityId, EvidenceKind, Finding, Label};

use super::answer::{claim, decide, propose, quote, rate};
use super::facts::Facts;

/// At most this many senders of load, and as many exhausted callees, are claimed.
const MAX_SENDERS: usize = 3;

/// A sender counts when its increase is at least this share of the greatest.
const SENDER_SHARE: f64 = 0.5;

/// **Traffic amplification.** The entity suffers from load, or a callee says that this entity's
/// load exhausted it, and a caller sends more: the cause lies with the caller (paper B.6,
/// "transitive traffic amplification").
///
/// It suffers from load when it ran out of something, crashed, is fuller than usual, or does worse
/// without a failing callee. Load that rises after the failure (retries) is no cause of it.
///
/// Who sends more is known from traffic measured by caller; else, when the entity's own traffic
/// rose, from the path of a change of demand; else, for an entity that failed, from a caller that
/// says so and that no measured traffic contradicts.
///
/// A callee that failed without a change of its own is claimed the other way round: this entity →
/// callee, in place of callee → this entity.
pub(super) fn traffic_amplification(facts: &Facts<'_>) -> Option<Decision> {
    let exhausted = facts.exhausted_callees();
    let accused = facts.accusations.iter().any(|(sender, _)| facts.is_load_on(sender));
    if !suffers_from_load(facts) && !accused && exhausted.is_empty() {
        return None;
    }
    let senders = senders(facts);
    let first = senders.first()?;
    let suffering = first_harm(facts);
    let observed = suffering.map_or_else(|| blame(facts, &exhausted), quote);
    let names: Vec<&str> = senders.iter().map(|sender| sender.entity.as_str()).collect();
    let summary = format!(
        "traffic amplification: {}; {observed}; no change of {} is on record, so the load from {} \
         explains it",
        first.condition,
        facts.entity,
        names.join(", ")
    );
    let cited = senders.iter().flat_map(|sender| sender.findings.iter().copied());
    let mut decision = decide(Label::Symptom, &summary, cited.chain(suffering));
    for sender in &senders {
        decision = decision.claiming(sender.claim(facts, suffering, &observed));
        rate(&mut decision, sender.entity, 600);
    }
    rate(&mut decision, facts.entity, 200);
    Some(claim_exhausted_callees(decision, facts))
}

/// **Demand enters here.** Traffic rose, nobody upstream is known to send it, and no change is on
/// record: it came from outside, but what changed there is not known. Callers, if any, may know.
/// Applies to an entity that does worse or is named as a cause.
pub(super) fn demand_enters_here(facts: &Facts<'_>) -> Option<Decision> {
    let surge = *facts.early_surges().first()?;
    let sent = |surge: &&Finding| crate::signs::role(surge) == Some(PeerRole::Caller);
    let concerned = facts.is_degraded() || !facts.accusations.is_empty();
    if !concerned || facts.surges.iter().any(sent) {
        return None;
    }
    let explained = !facts.routes.is_empty() || !facts.degraded_upstream().is_empty();
    if (facts.is_degraded() && explained) || facts.route_before(surge).is_some() {
        return None;
    }
    let summary = format!(
        "demand enters here: {}; no caller is known to send it, and nothing changed within {} \
         that is on record",
        quote(surge),
        facts.entity
    );
    let mut decision = decide(Label::Defer, &summary, facts.surges.iter().take(3).copied());
    rate(&mut decision, facts.entity, 600);
    let reason = format!("may send the traffic that rose at {}", facts.entity);
    decision = propose(decision, facts.callers(), Direction::Downstream, &reason);
    Some(claim_exhausted_callees(decision, facts))
}

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

fn suffers_from_load(facts: &Facts<'_>) -> bool {
    facts.overloaded_since().is_some()
        || (facts.is_degraded() && facts.failing_callees().is_empty())
}

/// The harm that load explains: hard failures and full resources before anything else.
fn first_harm<'a>(facts: &Facts<'a>) -> Option<&'a Finding> {
    let strained = facts.harms.iter().find(|harm| harm.signal == Signal::Saturation);
    let own =
        |harm: &&&Finding| harm.peer.as_ref().is_none_or(|peer| peer.role != PeerRole::Callee);
    facts.failures.first().or(strained).or_else(|| facts.harms.iter().find(own)).copied()
}

fn blame(facts: &Facts<'_>, exhausted: &[&EntityId]) -> String {
    let named = exhausted.first().copied().or(facts.accusations.first().map(|(sender, _)| *sender));
    named.map_or_else(String::new, |callee| format!("its load is more than {callee} can bear"))
}

/// An entity that sends more load, and how that is known.
struct Sender<'a> {
    entity: &'a EntityId,
    condition: String,
    findings: Vec<&'a Finding>,
    /// The sender's own claim, when it is known from its message.
    said: Option<&'a Claim>,
}

impl Sender<'_> {
    fn claim(&self, facts: &Facts<'_>, suffering: Option<&Finding>, observed: &str) -> Claim {
        let own = self.findings.iter().copied().chain(suffering).map(Finding::id);
        let said = self.said.into_iter().flat_map(|claim| &claim.evidence);
        // An entity that suffers nothing itself passes on what its accusers saw.
        let accusers = facts.accusations.iter().flat_map(|(_, claim)| &claim.evidence);
        let passed_on = accusers.filter(|_| suffering.is_none());
        let ids = own.chain(said).chain(passed_on);
        claim((self.entity, facts.entity), self.condition.clone(), observed, ids)
    }
}

fn senders<'a>(facts: &Facts<'a>) -> Vec<Sender<'a>> {
    let measured = measured_senders(facts);
    if !measured.is_empty() {
        return measured;
    }
    let by_change = sender_by_change_of_demand(facts);
    if !by_change.is_empty() {
        return by_change;
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
    let peer = route.peer.as_ref().filter(|_| surge.time.start() >= route.time.start());
    let sender = peer.map(|peer| Sender {
        entity: &peer.entity,
        condition: quote(route),
        findings: vec![surge, route],
        said: None,
    });
    sender.into_iter().collect()
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
