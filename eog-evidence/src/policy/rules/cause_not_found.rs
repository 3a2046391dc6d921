//! The rule *cause not found*.

use eog_core::incident::Direction;
use eog_core::{Decision, EntityId, Label};

use crate::policy::answer::{decide, propose as propose_neighbours, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "cause not found",
    when: "harm, or falling traffic",
    decides: "`symptom`; proposes two upstream neighbours, or callers",
    nature: Nature::Other,
    propose: |facts| Explanation::unexplained(propose(facts)),
};

/// **Cause not found.** The entity does worse, or less is asked of it, and nothing says why: a
/// symptom whose cause may lie with an upstream neighbour, or a caller.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    if let Some(harm) = facts.harms.first() {
        let summary =
            format!("cause not found: {}; nothing on record explains it yet", quote(harm));
        let decision = decide(Label::Symptom, &summary, facts.harms.iter().take(3).copied());
        let reason = format!("may explain what {} shows", facts.entity);
        return Some(undecided(
            decision,
            facts,
            facts.where_to_look(),
            Direction::Upstream,
            &reason,
        ));
    }
    let drop = facts.drop_of_traffic()?;
    let summary = format!("cause not found: {}; less is asked of {}", quote(drop), facts.entity);
    let decision = decide(Label::Symptom, &summary, [drop]);
    let reason = format!("may have stopped asking {}", facts.entity);
    Some(undecided(decision, facts, facts.callers(), Direction::Downstream, &reason))
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
    let mut decision = propose_neighbours(decision, open, direction, reason);
    rate(&mut decision, facts.entity, 150);
    decision
}
