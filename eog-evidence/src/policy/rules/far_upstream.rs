//! The rule *far upstream*.

use eog_core::evidence::{Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{Decision, EntityId, Finding, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::elsewhere::unlinked;
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::text::shorten;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "far upstream",
    when: "an alert here that nothing else explains, and somebody upstream, however far, of whose resource nearly all is used and was not, whose answers end requests, or who leaves calls out; where the search ends also one that traces tell to be slower, or series if it alone can be behind all that is surely hit, or of whose requests far more fail than by chance, as long as it is an origin or names no cause itself, and an origin of which a notice tells that it explains no alert (unless it is one by a change, by what callers feel, or since nobody else is known)",
    decides: "`symptom`; that one → itself, at a dead end the next",
    nature: Nature::Other,
    propose,
};

/// **Far upstream.** The entity has an alert, and no neighbour explains it: what comes through a neighbour that passes it on may
/// not show there, since it is diluted by what else is done. Of all upstream those that are full, those whose answers
/// end requests, and those that leave calls out are named, one after the other; whether they are origins is for them to say. So are,
/// where the search ends, those whose requests fail, those that traces tell to be slower by what would be felt here, and the one
/// slower by its series that alone can be behind all that is surely hit; as long as they are origins, or do worse and name no
/// cause, so that they are asked whether the search ends there. Others that are hit hard are looked at alone: of many entities one is always slower than ever.
/// Before all of these come origins that no claim joins with an alert, of which a notice tells: those that a person names, those that ran
/// out, fell, take up what others rest on or send more than ever, then those whose work hangs or where requests begin to fail.
fn propose(facts: &Facts<'_>) -> Vec<Explanation> {
    if facts.alerted().next().is_none() {
        return Vec::new();
    }
    let mut hit: Vec<(&EntityId, &Finding)> = facts.hit_upstream().collect();
    let is_sure = |note: &Finding| note.trend == Trend::Rising;
    let names_nobody =
        |other: &EntityId| facts.message(other).is_some_and(|said| said.claims.is_empty());
    hit.retain(|(other, note)| match facts.label_of(other) {
        Some(Label::Healthy) => false,
        _ if matches!(note.signal, Signal::Saturation | Signal::Output) => true,
        Some(Label::Origin) => is_sure(note),
        // It does worse and names nobody: it is yet to be asked whether the search ends there.
        Some(Label::Symptom) => facts.at_dead_end() && is_sure(note) && names_nobody(other),
        Some(Label::Defer) => false,
        None => facts.at_dead_end() && is_sure(note),
    });
    let of = |(other, note): (&EntityId, &Finding)| Explanation::possible(one(facts, other, note));
    let failing = failing(facts).into_iter();
    let failing =
        failing.flat_map(|(other, since)| Explanation::possible(failed(facts, other, since)));
    failing.chain(hit.into_iter().flat_map(of)).collect()
}

/// Origins of which a notice tells that their effects can reach the entity, and who was named for that before and still
/// is one; each with when it began.
fn failing<'a>(facts: &Facts<'a>) -> Vec<(&'a EntityId, Option<Onset>)> {
    let of = |is_wanted: fn(Nature) -> bool| unlinked(is_wanted, facts.harm_since(), facts);
    let mut all: Vec<_> = of(|nature| nature == Nature::Stated)
        .chain(of(Nature::fails_or_takes))
        .chain(of(|nature| matches!(nature, Nature::Stuck | Nature::Traced)))
        .filter(|_| facts.at_dead_end())
        .collect();
    let former = facts.packet.former.as_ref().map(|former| &former.belief);
    let former = former.filter(|belief| belief.rule.as_deref() == Some(RULE.name));
    for claim in former.map_or(&[][..], |belief| belief.claims.as_slice()) {
        let is_hint = facts.hit_upstream().any(|(other, _)| *other == claim.cause);
        let said = facts.message(&claim.cause).filter(|said| said.label == Label::Origin);
        if let Some(said) = said.filter(|_| !is_hint) {
            all.retain(|(other, _)| **other != claim.cause);
            all.insert(0, (&claim.cause, said.since));
        }
    }
    all
}

fn failed(facts: &Facts<'_>, other: &EntityId, since: Option<Onset>) -> Option<Decision> {
    let harm = *facts.harms.first()?;
    let said = facts.message(other).map(|said| shorten(&said.summary, 160));
    let said = said.unwrap_or_else(|| "an origin that explains no alert so far".to_owned());
    let summary = format!("far upstream: {other} can reach here: {said}; {}", quote(harm));
    let mut decision = decide(Label::Symptom, &summary, [harm]);
    let mut claim = claim((other, facts.entity), said, quote(harm), [harm.id()]);
    claim.cause_since = since;
    decision = decision.claiming(claim);
    rate(&mut decision, other, 400);
    rate(&mut decision, facts.entity, 100);
    Some(decision)
}

fn one(facts: &Facts<'_>, other: &EntityId, note: &Finding) -> Option<Decision> {
    let harm = *facts.harms.first()?;
    let summary = format!("far upstream: {}; {}", quote(note), quote(harm));
    let mut decision = decide(Label::Symptom, &summary, [note, harm]);
    let ids = [note.id(), harm.id()];
    decision = decision.claiming(claim((other, facts.entity), quote(note), quote(harm), ids));
    rate(&mut decision, other, 400);
    rate(&mut decision, facts.entity, 100);
    Some(decision)
}
