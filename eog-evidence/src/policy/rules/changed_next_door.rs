//! The rule *changed next door*.

use eog_core::{Belief, Claim, Decision, EntityId, EvidenceId, EvidenceKind, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::policy::times::{Delay, surely_before};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "changed next door",
    when: "harm of measured onset, and an upstream neighbour tells of a change of its own that explains nothing it knows, made before the harm and not long before",
    decides: "`symptom`; that neighbour → itself, the nearest before the harm",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Changed next door.** A change that is far from an alert gives way to those nearer before it, so
/// that no route tells of it. By the onset of the harm here it may fit all the same: a deploy seconds
/// before a late alert takes nothing from what was changed seconds before the harm.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let since = facts.harm_since()?;
    let fits = |belief: &Belief| {
        let made = belief.since.filter(|made| !surely_before(&since, made))?;
        let delay = Delay::to(&made, Some(since), since.earliest());
        (!delay.is_long()).then_some(delay.least)
    };
    let told = |other: &&EntityId| {
        let belief = facts.message(other).filter(|belief| belief.label == Label::Defer)?;
        belief.evidence.iter().find(|id| id.kind() == EvidenceKind::Change)?;
        fits(belief).map(|delay| (delay, belief))
    };
    let changed = facts.upstream().into_iter().filter_map(|other| Some((told(&other)?, other)));
    let ((_, belief), other) = changed.min_by_key(|((delay, _), other)| (*delay, *other))?;
    let harm = facts.harms.first()?;
    let said = crate::text::shorten(&belief.summary, 160);
    let summary = format!("changed next door: {other} says: {said}; here: {}", quote(harm));
    let ids: Vec<&EvidenceId> = std::iter::once(harm.id()).chain(&belief.evidence).collect();
    let mut decision = decide(Label::Symptom, &summary, facts.harms.iter().take(3).copied())
        .claiming(Claim {
            cause_since: belief.since,
            ..claim((other, facts.entity), said, quote(harm), ids)
        });
    rate(&mut decision, other, 500);
    rate(&mut decision, facts.entity, 100);
    Some(decision)
}
