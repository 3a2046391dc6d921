//! The rule *holds up callers*.

use eog_core::{Decision, EntityId, Finding, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::books::own_part;
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::signs::MAJORITY;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "holds up callers",
    when: "calls to it hold each request of a caller so much longer that they fill up what holds these requests, and no callee of it accounts for that; not of callers that ran out, fell, take up what others rest on, or send more than ever",
    decides: "`origin` without a change; itself → these callers",
    nature: Nature::Felt,
    propose: |facts| Explanation::sharing(propose(facts), own_part(facts)),
};

/// **Holds up callers.** Its answers take longer, or the way to it does, and its callers have no place left for those who
/// wait: most of the time is lost in front of the caller, and is owed to the calls.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let holding: Vec<&Finding> = facts.holds_up().collect();
    let first = *holding.first()?;
    let left = own_part(facts).is_none_or(|part| part >= MAJORITY);
    let rests_on = |other: &&EntityId| !facts.is_called_by(other);
    if !left || !facts.routes.is_empty() || facts.degraded_upstream().iter().any(rests_on) {
        return None;
    }
    let summary = format!("holds up callers: {}", quote(first));
    let mut decision = decide(Label::Origin, &summary, holding.iter().copied());
    for note in &holding {
        let Some(caller) = note.peer.as_ref().map(|peer| &peer.entity) else { continue };
        let observed = format!("{caller} has no place left for requests");
        decision =
            decision.claiming(claim((facts.entity, caller), quote(note), observed, [note.id()]));
    }
    rate(&mut decision, facts.entity, 600);
    Some(decision)
}
