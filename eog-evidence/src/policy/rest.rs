//! Rules for entities that no cause is found for, and for those that show nothing unusual.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::incident::Direction;
use eog_core::{Decision, EntityId, EvidenceKind, Finding, Label};

use super::answer::{claim, decide, propose, quote, rate};
use super::facts::Facts;
use crate::signs::role;

/// At most this many neighbours are claimed.
const MAX_CAUSES: usize = 2;

/// **Less arrives.** Less is asked of an entity that shows no failure of its own: what it rests on
/// explains that when it does worse, else the callers that do worse, of which calls may fail on
/// the way. Calls that callers see fail are no failure of its own when hardly any reach it.
pub(super) fn less_arrives(facts: &Facts<'_>) -> Option<Decision> {
    let drop = drop_of_traffic(facts)?;
    if facts.harms.iter().any(|harm| role(harm) != Some(PeerRole::Caller)) {
        return None;
    }
    let mut causes = facts.degraded_upstream();
    causes.retain(|cause| !facts.calls(cause));
    if causes.is_empty() {
        causes = facts.callers();
        causes.retain(|caller| {
            matches!(facts.label_of(caller), Some(Label::Symptom | Label::Origin))
        });
    }
    causes.truncate(MAX_CAUSES);
    let names: Vec<&str> = causes.iter().map(|cause| cause.as_str()).collect();
    let summary = format!(
        "less arrives: {}; {} shows no failure of its own, {} does",
        quote(drop),
        facts.entity,
        names.join(" and ")
    );
    let mut decision = decide(Label::Symptom, &summary, [drop]);
    for cause in &causes {
        let condition = crate::text::shorten(&facts.message(cause)?.summary, 160);
        decision =
            decision.claiming(claim((cause, facts.entity), condition, quote(drop), [drop.id()]));
        rate(&mut decision, cause, 400);
    }
    rate(&mut decision, facts.entity, 100);
    (!causes.is_empty()).then_some(decision)
}

/// **Cause not found.** The entity does worse, or less is asked of it, and nothing says why: a
/// symptom whose cause may lie with an upstream neighbour, or a caller.
pub(super) fn cause_not_found(facts: &Facts<'_>) -> Option<Decision> {
    if let Some(harm) = facts.harms.first() {
        let summary =
            format!("cause not found: {}; nothing on record explains it yet", quote(harm));
        let decision = decide(Label::Symptom, &summary, facts.harms.iter().take(3).copied());
        let reason = format!("may explain what {} shows", facts.entity);
        return Some(undecided(decision, facts, facts.upstream(), Direction::Upstream, &reason));
    }
    let drop = drop_of_traffic(facts)?;
    let summary = format!("cause not found: {}; less is asked of {}", quote(drop), facts.entity);
    let decision = decide(Label::Symptom, &summary, [drop]);
    let reason = format!("may have stopped asking {}", facts.entity);
    Some(undecided(decision, facts, facts.callers(), Direction::Downstream, &reason))
}

/// **Nothing unusual.** Findings, and all of them as usual: healthy. With a change that explains
/// nothing, or findings that the rules do not understand, the judgement is put off instead.
pub(super) fn nothing_unusual(facts: &Facts<'_>) -> Option<Decision> {
    let findings = facts.findings().iter();
    let own: Vec<&Finding> =
        findings.filter(|finding| finding.kind != EvidenceKind::Note).collect();
    let first = *own.first()?;
    if let Some(change) = facts.changes.first() {
        let why = match change.signal {
            Signal::Demand => "but its traffic is not known to have risen with it",
            Signal::Experiment => "but nothing shows that the experiment ran",
            _ => "but nothing is known that it explains",
        };
        return Some(put_off(
            &format!("unexplaining change: {}, {why}", quote(change)),
            change,
            facts,
        ));
    }
    if let Some(surge) = facts.surges.first() {
        return Some(put_off(&format!("more traffic: {}", quote(surge)), surge, facts));
    }
    if let Some(strange) = own.iter().find(|finding| is_not_understood(finding)) {
        let summary = format!("not understood: {}", quote(strange));
        return Some(put_off(&summary, strange, facts));
    }
    let summary = format!("nothing unusual: {}", quote(first));
    let mut decision = decide(Label::Healthy, &summary, own.into_iter().take(3));
    rate(&mut decision, facts.entity, 0);
    Some(decision)
}

/// **No findings.** Nothing is known about the entity.
pub(super) fn no_findings(facts: &Facts<'_>) -> Decision {
    let summary = format!("no findings: nothing is known about {} in the window", facts.entity);
    let mut decision = decide(Label::Defer, &summary, []);
    rate(&mut decision, facts.entity, 50);
    decision
}

fn put_off(summary: &str, finding: &Finding, facts: &Facts<'_>) -> Decision {
    let mut decision = decide(Label::Defer, summary, [finding]);
    rate(&mut decision, facts.entity, 100);
    decision
}

/// Proposes where to look, those that found themselves healthy left out.
fn undecided(
    decision: Decision,
    facts: &Facts<'_>,
    candidates: Vec<&EntityId>,
    direction: Direction,
    reason: &str,
) -> Decision {
    let open = candidates.into_iter().filter(|candidate| {
        facts.message(candidate).is_none_or(|belief| belief.label != Label::Healthy)
    });
    let mut decision = propose(decision, open, direction, reason);
    rate(&mut decision, facts.entity, 150);
    decision
}

fn drop_of_traffic<'a>(facts: &Facts<'a>) -> Option<&'a Finding> {
    facts.findings().iter().find(|finding| is_drop_of_traffic(finding))
}

fn is_drop_of_traffic(finding: &Finding) -> bool {
    let measured = !matches!(finding.kind, EvidenceKind::Change | EvidenceKind::Note);
    let served = role(finding) != Some(PeerRole::Callee);
    measured && served && finding.signal == Signal::Traffic && finding.trend == Trend::Falling
}

fn is_not_understood(finding: &Finding) -> bool {
    finding.signal == Signal::Other && finding.trend != Trend::Steady
}
