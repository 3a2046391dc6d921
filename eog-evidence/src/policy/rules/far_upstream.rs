//! The rule *far upstream*.

use eog_core::evidence::{Signal, Trend};
use eog_core::{Decision, EntityId, Finding, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::Rule;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "far upstream",
    when: "an alert here that nothing else explains, and somebody upstream, however far, of whose resource nearly all is used and was not, whose answers end requests, or who leaves calls out; where the search ends also one that traces tell to be slower, or of whose requests far more fail than by chance, as long as it is an origin",
    decides: "`symptom`; that one → itself, at a dead end the next",
    propose,
};

/// **Far upstream.** The entity has an alert, and no neighbour explains it: what comes through a neighbour that passes it on may
/// not show there, since it is diluted by what else is done. Of all upstream those that are full, those whose answers
/// end requests, and those that leave calls out are named, one after the other; whether they are origins is for them to say. So are,
/// where the search ends and as long as they are origins, those whose requests fail and those that traces tell to be slower by what
/// would be felt here. Others that are hit hard are looked at alone: of many entities one is always slower than ever.
fn propose(facts: &Facts<'_>) -> Vec<Explanation> {
    if facts.alerted().next().is_none() {
        return Vec::new();
    }
    let mut hit: Vec<(&EntityId, &Finding)> = facts.hit_upstream().collect();
    let is_sure = |note: &Finding| note.trend == Trend::Rising;
    hit.retain(|(other, note)| match facts.label_of(other) {
        Some(Label::Healthy) => false,
        _ if matches!(note.signal, Signal::Saturation | Signal::Output) => true,
        Some(label) => label == Label::Origin && is_sure(note),
        None => facts.at_dead_end() && is_sure(note),
    });
    let of = |(other, note): (&EntityId, &Finding)| Explanation::possible(one(facts, other, note));
    hit.into_iter().flat_map(of).collect()
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
