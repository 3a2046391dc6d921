//! What an explanation accounts for: since when, and which alerts.

use eog_core::belief::Explained;
use eog_core::evidence::Signal;
use eog_core::incident::Onset;
use eog_core::{Anomaly, Belief, Claim, Decision, EntityId, EvidenceKind, Finding, Label};

use super::explanation::{Explanation, Standing};
use super::facts::Facts;
use super::signals::leads_to;
use super::times::{first_of, made, surely_before, told};

/// Fills in times and what is explained, and leaves out claims of which the effect surely began
/// before its cause.
pub(super) fn complete(explanation: &mut Explanation, facts: &Facts<'_>) {
    let harm = facts.harm_since().map(told);
    let decision = &mut explanation.decision;
    // A change that explains nothing here may explain a neighbour, which needs its time. So does what an entity does to
    // its callers, of which it may measure nothing itself.
    let holding = || first_of(facts.holds_up().filter_map(|note| note.onset));
    decision.since = match decision.label {
        Label::Origin => {
            let sending = first_of(sent(decision, facts).filter_map(|load| load.onset));
            let crowding = facts.crowding_out().filter(|note| cites(decision, note));
            let taking = first_of(crowding.filter_map(|note| note.onset));
            condition_since(decision, facts)
                .or(sending)
                .or(taking)
                .or_else(|| first_of(harm.into_iter().chain(holding())))
        }
        Label::Defer => harm.or_else(|| condition_since(decision, facts)),
        Label::Symptom | Label::Healthy => harm,
    };
    for claim in decision.claims.iter_mut().filter(|claim| claim.effect == *facts.entity) {
        claim.cause_since = claim.cause_since.or_else(|| cause_since(claim, facts));
        claim.effect_since = harm;
    }
    let since = decision.since;
    for claim in &mut decision.claims {
        if claim.effect == *facts.entity {
            let kinds = kinds(&about_the_cause(claim, facts));
            claim.explains = explained(&facts.packet.anomalies, claim.cause_since, &kinds);
        } else {
            claim.cause_since = load_since(claim, facts).unwrap_or(since);
            claim.effect_since = facts.message(&claim.effect).and_then(|belief| belief.since);
        }
    }
    if decision.label == Label::Origin {
        let kinds = kinds(&own(decision, facts));
        decision.explains = explained(&facts.packet.anomalies, since, &kinds);
    }
    leave_out_untimely_claims(explanation, facts);
}

/// An onset counts for others only with the finding that measured it: a conclusion asks for harm of
/// the kind that an alert speaks of, which may not be what the explanation rests on.
pub(super) fn cite_what_dates_the_harm(decision: &mut Decision, facts: &Facts<'_>) {
    if matches!(decision.label, Label::Healthy) {
        return;
    }
    for harm in facts.dating_harms() {
        if !decision.evidence.contains(harm.id()) {
            decision.evidence.push(harm.id().clone());
        }
    }
}

/// Since when the condition of an origin holds: the making of the first change that it cites, else
/// the first harm.
fn condition_since(decision: &Decision, facts: &Facts<'_>) -> Option<Onset> {
    let cited = decision.evidence.iter().filter(|id| id.kind() == EvidenceKind::Change);
    let change = cited.filter_map(|id| facts.finding(id)).next()?;
    Some(made(change))
}

/// The load that an origin cites, where it sends that to others.
fn sent<'a>(decision: &Decision, facts: &Facts<'a>) -> impl Iterator<Item = &'a Finding> {
    facts.more_sent().filter(|sent| cites(decision, sent))
}

fn cites(decision: &Decision, finding: &Finding) -> bool {
    decision.evidence.contains(finding.id())
}

/// Since when the cause of a claim is known to be there: by its own word, else by the change on
/// whose path it lies, else by what is seen of it here. Of a caller it is the load that counts, not
/// its harm, which commonly follows that of its callee.
fn cause_since(claim: &Claim, facts: &Facts<'_>) -> Option<Onset> {
    if facts.is_called_by(&claim.cause) && !facts.calls(&claim.cause) {
        return load_since(claim, facts).flatten();
    }
    // Who passes demand on does so from when it came, whatever befell it later.
    if let Some(demand) = facts.demand().filter(|demand| claim.evidence.contains(demand.id()))
        && speaks_of(demand, &claim.cause)
    {
        return demand.onset;
    }
    let said = facts.message(&claim.cause);
    let said = said.filter(|belief| matches!(belief.label, Label::Symptom | Label::Origin));
    let cited = || claim.evidence.iter().filter_map(|id| facts.finding(id));
    let route =
        || cited().find(|finding| finding.signal == Signal::Route).and_then(|route| route.onset);
    let seen = || {
        let of_cause = cited().filter(|finding| speaks_of(finding, &claim.cause));
        first_of(of_cause.filter_map(|finding| finding.onset))
    };
    // Its own change is not what a claim means that comes by the change of somebody else.
    let changed = said.filter(|belief| belief.label == Label::Origin && cites_a_change(belief));
    let elsewhere = changed.and_then(|_| route());
    elsewhere.or_else(|| said.and_then(|belief| belief.since)).or_else(route).or_else(seen)
}

fn cites_a_change(belief: &Belief) -> bool {
    belief.evidence.iter().any(|id| id.kind() == EvidenceKind::Change)
}

/// Since when there is the load that a claim cites, if it cites any.
fn load_since(claim: &Claim, facts: &Facts<'_>) -> Option<Option<Onset>> {
    let cited = claim.evidence.iter().filter_map(|id| facts.finding(id));
    let mut load = cited.filter(|finding| finding.signal == Signal::Traffic).peekable();
    load.peek().is_some().then(|| first_of(load.filter_map(|finding| finding.onset)))
}

/// What an origin rests on.
fn own<'a>(decision: &Decision, facts: &Facts<'a>) -> Vec<&'a Finding> {
    decision.evidence.iter().filter_map(|id| facts.finding(id)).collect()
}

/// What a claim tells of its cause; the harm of the effect says nothing of what it is due to.
fn about_the_cause<'a>(claim: &Claim, facts: &Facts<'a>) -> Vec<&'a Finding> {
    let cited = claim.evidence.iter().filter_map(|id| facts.finding(id));
    cited.filter(|finding| speaks_of(finding, &claim.cause)).collect()
}

fn speaks_of(finding: &Finding, entity: &EntityId) -> bool {
    finding.entity == *entity || finding.peer.as_ref().is_some_and(|peer| peer.entity == *entity)
}

/// The kinds of trouble that findings speak of; none when it is not known, as with a change, which
/// may lead to anything.
fn kinds(cited: &[&Finding]) -> Vec<Signal> {
    let open = |signal| {
        matches!(
            signal,
            Signal::Route | Signal::Impact | Signal::Other | Signal::Traffic | Signal::Demand
        )
    };
    if cited.iter().any(|finding| finding.kind == EvidenceKind::Change || open(finding.signal)) {
        return Vec::new();
    }
    let measured = cited.iter().filter(|finding| finding.kind != EvidenceKind::Alert);
    measured.map(|finding| finding.signal).collect()
}

/// Which onsets of anomalies a cause accounts for; nothing when all.
fn explained(
    anomalies: &[Anomaly],
    since: Option<Onset>,
    kinds: &[Signal],
) -> Option<Vec<Explained>> {
    let onsets =
        || anomalies.iter().flat_map(|anomaly| anomaly.onsets().map(move |at| (anomaly, at)));
    let accounts = |(anomaly, at): &(&Anomaly, _)| {
        let in_time = since.is_none_or(|since| since.can_precede(&Onset::at(*at)));
        let of_kind = kinds.is_empty() || kinds.iter().any(|kind| leads_to(*kind, anomaly.signal));
        in_time && of_kind
    };
    if onsets().all(|onset| accounts(&onset)) {
        return None;
    }
    let some = onsets().filter(accounts);
    Some(some.map(|(anomaly, onset)| Explained { anomaly: anomaly.name.clone(), onset }).collect())
}

fn leave_out_untimely_claims(explanation: &mut Explanation, facts: &Facts<'_>) {
    let untimely = |claim: &Claim| {
        claim.effect == *facts.entity
            && matches!((claim.cause_since, claim.effect_since),
                (Some(cause), Some(effect)) if surely_before(&effect, &cause))
    };
    let on_me = explanation.claims_on(facts.entity).count();
    let late = explanation.decision.claims.iter().find(|claim| untimely(claim));
    let Some(doubt) =
        late.map(|claim| format!("{} did worse before {} did", facts.entity, claim.cause))
    else {
        return;
    };
    if explanation.claims_on(facts.entity).filter(|claim| untimely(claim)).count() == on_me {
        explanation.lower(Standing::Refuted, doubt);
    } else {
        explanation.decision.claims.retain(|claim| !untimely(claim));
    }
}

/// Whether an explanation accounts for a kind of alert on the entity, as far as that is known.
pub(super) fn accounts_for_the_alert(explanation: &Explanation, facts: &Facts<'_>) -> bool {
    let alerts: Vec<Signal> = facts.alerted().collect();
    let fits = |cited: &[&Finding]| {
        let kinds = kinds(cited);
        let any = |to: &Signal| kinds.iter().any(|from| leads_to(*from, *to));
        alerts.is_empty() || kinds.is_empty() || alerts.iter().any(any)
    };
    if explanation.decision.label == Label::Origin {
        return fits(&own(&explanation.decision, facts));
    }
    let suspects = |claim: &&Claim| {
        alerts.is_empty() || alerts.iter().any(|kind| !facts.exonerates(&claim.cause, *kind))
    };
    let mut claims = explanation.claims_on(facts.entity).peekable();
    claims.peek().is_none()
        || claims.filter(suspects).any(|claim| fits(&about_the_cause(claim, facts)))
}
