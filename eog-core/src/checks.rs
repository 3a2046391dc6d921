//! Contract checks: what of a decision is accepted. The checks are in the controller, not only in
//! a prompt; each refusal is recorded with its reason.

use std::collections::BTreeSet;

use crate::belief::{Claim, ClaimEdge, Label};
use crate::contract::packet::{ContextPacket, Decision, Route};
use crate::controller::config::{Checks, Config};
use crate::evidence::Finding;
use crate::ids::{EntityId, EvidenceId};
use crate::ledger::record::{Refusal, Warning};
use crate::state::State;

/// Longest text that is accepted from a decision, in characters. Packets carry the texts of
/// neighbours and must stay bounded.
const MAX_TEXT_CHARS: usize = 2_000;

/// What is left of a decision.
pub(crate) struct Checked {
    pub(crate) label: Label,
    pub(crate) summary: String,
    pub(crate) evidence: Vec<EvidenceId>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) warnings: Vec<Warning>,
}

/// Checks label, evidence and claims of a decision, after its context was recorded. Proposals are
/// checked later, when the entities that the claims made active are known. The packet is what was decided on, if there was one.
pub(crate) fn check(
    config: &Config,
    state: &State,
    entity: &EntityId,
    packet: Option<&ContextPacket>,
    routes: &[Route],
    decision: &Decision,
) -> Checked {
    let messages = packet.into_iter().flat_map(|packet| &packet.inbox);
    let inbox: BTreeSet<EvidenceId> = messages.flat_map(|message| message.belief.cited()).collect();
    let mut checked = Checked {
        label: decision.label,
        summary: decision.summary.clone(),
        evidence: decision.evidence.clone(),
        claims: Vec::new(),
        refusals: Vec::new(),
        warnings: Vec::new(),
    };
    let full = config.checks == Checks::Full;
    let in_case_file = |id: &EvidenceId| state.case_file.as_ref().and_then(|file| file.get(id));
    let own = |id: &EvidenceId| {
        state.get(entity).is_some_and(|node| node.seen.contains_key(id))
            || in_case_file(id).is_some_and(|finding| finding.entity == *entity)
    };
    let was_quoted = |id: &EvidenceId| state.get(entity).is_some_and(|it| it.quoted.contains(id));
    let known = |id: &EvidenceId| {
        own(id) || inbox.contains(id) || in_case_file(id).is_some() || was_quoted(id)
    };
    if full {
        cut(&mut checked.summary, &mut checked.refusals);
        keep_known(&mut checked.evidence, &known, &mut checked.refusals);
    }
    // A claim between others may follow a route that it cites, hop by hop.
    let follows_a_route = |claim: &Claim| {
        let cites = |route: &&Route| claim.evidence.contains(&route.finding);
        routes.iter().filter(cites).any(|route| route.leads(&claim.cause, &claim.effect))
    };
    let mut room = (config.max_entities as usize).saturating_sub(state.admitted.len());
    let mut admitted = BTreeSet::new();
    for claim in &decision.claims {
        let mut claim = claim.clone();
        if full {
            cut(&mut claim.condition, &mut checked.refusals);
            cut(&mut claim.observed, &mut checked.refusals);
            keep_known(&mut claim.evidence, &known, &mut checked.refusals);
        }
        // What is known is no outside system, whatever a policy says of it.
        claim.outside &= !state.is_known(&claim.cause);
        let edge = claim.edge();
        let is_cause_known =
            state.is_known(&edge.cause) || claim.outside && is_quoted(state, packet, &claim);
        let newcomers: BTreeSet<&EntityId> = [&edge.cause, &edge.effect]
            .into_iter()
            .filter(|end| !state.admitted.contains(*end) && !admitted.contains(*end))
            .collect();
        let refusal: Option<fn(ClaimEdge) -> Refusal> =
            if !is_cause_known || !state.is_known(&edge.effect) {
                Some(Refusal::ClaimOnUnknownEntity)
            } else if full && edge.cause == edge.effect {
                Some(Refusal::ClaimOnItself)
            } else if full
                && edge.cause != *entity
                && edge.effect != *entity
                && !follows_a_route(&claim)
            {
                Some(Refusal::ClaimBetweenOthers)
            } else if full && claim.evidence.is_empty() {
                Some(Refusal::ClaimWithoutEvidence)
            } else if full && is_against_time(&claim) {
                Some(Refusal::ClaimAgainstTime)
            } else if newcomers.len() > room {
                Some(Refusal::ClaimBeyondEntityCap)
            } else {
                None
            };
        match refusal {
            Some(refusal) => checked.refusals.push(refusal(edge)),
            None => {
                room -= newcomers.len();
                admitted.extend(newcomers.into_iter().cloned());
                checked.claims.push(claim);
            }
        }
    }
    if full {
        let claimed = checked.claims.iter().flat_map(|claim| &claim.evidence);
        // The findings of others may all point to one thing of which nothing is recorded, such as a
        // namespace.
        let cites_own =
            checked.evidence.iter().chain(claimed).any(|id| own(id) || in_case_file(id).is_some());
        if checked.label == Label::Origin && !cites_own {
            checked.label = Label::Defer;
            checked.refusals.push(Refusal::OriginWithoutLocalEvidence);
        }
        warn(state, entity, &mut checked);
        if checked.label == Label::Origin && is_after_what_it_explains(decision) {
            checked.warnings.push(Warning::OriginAfterWhatItExplains);
        }
    }
    checked
}

/// Whether evidence that a claim cites, and that its packet shows, quotes the outside system that it calls the cause. A system
/// named like a part of the topology is none.
fn is_quoted(state: &State, packet: Option<&ContextPacket>, claim: &Claim) -> bool {
    let Some(packet) = packet else { return false };
    let in_case_file = packet.case_file.iter().flat_map(|file| &file.findings);
    let mut shown = packet.context.findings.iter().chain(&packet.quoted).chain(in_case_file);
    let quotes = |it: &Finding| claim.evidence.contains(it.id()) && it.quotes(claim.cause.as_str());
    shown.any(quotes) && !state.has_namesake(&claim.cause)
}

/// Whether a claim itself states that its effect was certainly there before its cause. Such a claim
/// contradicts itself, so it is refused; times that only beliefs have may change, so conclusions alone
/// weigh them.
fn is_against_time(claim: &Claim) -> bool {
    let times = claim.cause_since.zip(claim.effect_since);
    times.is_some_and(|(cause, effect)| !cause.can_precede(&effect))
}

/// Whether an origin began certainly after each of its own observations that it says it explains. What
/// it explains elsewhere may still stand, so it is kept.
fn is_after_what_it_explains(decision: &Decision) -> bool {
    let (Some(since), Some(explains)) = (&decision.since, &decision.explains) else { return false };
    !explains.is_empty() && explains.iter().all(|it| it.onset < since.earliest())
}

/// Drops unknown ids, each with a refusal.
fn keep_known(
    ids: &mut Vec<EvidenceId>,
    known: &impl Fn(&EvidenceId) -> bool,
    refusals: &mut Vec<Refusal>,
) {
    ids.retain(|id| {
        let keep = known(id);
        if !keep {
            refusals.push(Refusal::UnknownEvidence(id.clone()));
        }
        keep
    });
}

/// Cuts a text that is too long, with a refusal.
fn cut(text: &mut String, refusals: &mut Vec<Refusal>) {
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT_CHARS) {
        text.truncate(end);
        text.push('…');
        refusals.push(Refusal::TextCut);
    }
}

fn warn(state: &State, entity: &EntityId, checked: &mut Checked) {
    if checked.evidence.is_empty() && checked.claims.is_empty() {
        checked.warnings.push(Warning::Uncited);
    }
    // The entity's own earlier claims are about to be superseded and do not count.
    let by_itself = |claim: &Claim| claim.effect == *entity && claim.cause != *entity;
    let explained = || state.is_explained_by_others(entity) || checked.claims.iter().any(by_itself);
    if checked.label == Label::Symptom && !explained() {
        checked.warnings.push(Warning::SymptomWithoutCause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let (mut long, mut short) = ("é".repeat(2_001), "é".repeat(2_000));
        let mut refusals = Vec::new();
        cut(&mut long, &mut refusals);
        cut(&mut short, &mut refusals);
        assert_eq!(long, format!("{short}…"));
        assert_eq!(refusals, [Refusal::TextCut]);
    }

    #[test]
    fn an_origin_after_all_it_explains_is_kept_with_a_warning() {
        use crate::belief::Explained;
        use crate::contract::packet::LocalContext;
        use crate::evidence::{EvidenceKind, EvidenceTime, Finding, FindingContent, Signal, Trend};
        use crate::incident::case::Case;
        use crate::incident::onset::Onset;
        use crate::incident::topology::Topology;
        use crate::incident::window::Window;
        let at = |minute: u8| format!("2026-01-01T10:{minute:02}:00Z").parse().unwrap();
        let entity = EntityId::new("db").unwrap();
        let finding = Finding::new(FindingContent {
            entity: entity.clone(),
            kind: EvidenceKind::Change,
            signal: Signal::Configuration,
            trend: Trend::Steady,
            time: EvidenceTime::At(at(5)),
            onset: None,
            quantity: None,
            change: None,
            peer: None,
            source: String::new(),
            query: String::new(),
            excerpt: String::new(),
        });
        let window = Window::new(at(0), at(30)).unwrap();
        let mut state = State::new(&Case::from_anomalies(Topology::default(), window, vec![]));
        let context = LocalContext { findings: vec![finding.clone()], ..LocalContext::default() };
        state.node(&entity).remember_evidence(&context, 1);
        let explains = |minutes: &[u8]| {
            let one = |&minute: &u8| Explained { anomaly: "Errors".into(), onset: at(minute) };
            Some(minutes.iter().map(one).collect::<Vec<_>>())
        };
        let warnings = |label: Label, since: Option<Onset>, explains: Option<Vec<Explained>>| {
            let decision = Decision { since, explains, ..Decision::new(label, "") };
            let decision = decision.citing([&finding]);
            let config = Config::default();
            let checked = check(&config, &state, &entity, None, &[], &decision);
            assert_eq!((checked.label, checked.refusals), (label, vec![]));
            checked.warnings
        };
        let late = Some(Onset::between(at(5), at(7)));
        let expected = [Warning::OriginAfterWhatItExplains];
        assert_eq!(warnings(Label::Origin, late, explains(&[3, 4])), expected);
        // One of them may follow from it; it may have begun before; nothing is said of one of the two.
        assert_eq!(warnings(Label::Origin, late, explains(&[4, 5])), []);
        let wide = Some(Onset::between(at(3), at(7)));
        assert_eq!(warnings(Label::Origin, wide, explains(&[3])), []);
        assert_eq!(warnings(Label::Origin, late, None), []);
        assert_eq!(warnings(Label::Origin, late, explains(&[])), []);
        assert_eq!(warnings(Label::Origin, None, explains(&[3])), []);
        assert_eq!(warnings(Label::Healthy, late, explains(&[3])), []);
    }

    #[test]
    fn only_certain_contradictions_are_against_time() {
        use crate::incident::onset::Onset;
        let name = |name: &str| EntityId::new(name).unwrap();
        let at = |minute: &str| format!("2026-01-01T10:{minute}:00Z").parse().unwrap();
        let claim = Claim::new(&name("db"), &name("cart"), "", "");
        let timed = |cause, effect| Claim {
            cause_since: Some(cause),
            effect_since: effect,
            ..claim.clone()
        };
        let (early, late) = (Onset::at(at("01")), Onset::at(at("05")));
        assert!(is_against_time(&timed(late, Some(early))));
        let wide = Onset::between(at("00"), at("05"));
        for fine in [timed(early, Some(late)), timed(late, None), timed(late, Some(wide))] {
            assert!(!is_against_time(&fine), "{fine:?}");
        }
    }
}
