//! The rule *demand from outside*.

use eog_core::{Decision, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::load::claim_exhausted_callees;
use crate::policy::rule::{Nature, Rule};
use crate::policy::times::surely_before;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "demand from outside",
    when: "somebody whom nothing on record causes to do so sends at least half more requests than usual, they reach the entity, and it does worse, not surely before that",
    decides: "`symptom`; who passes them on → itself",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Demand from outside.** More is asked of the entity because more is asked of the system. What is full
/// or fails within it does so under that load; no fault within makes users come.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let demand = facts.demand()?;
    let by = &demand.peer.as_ref()?.entity;
    let harm = *facts.harms.first()?;
    let came_before = matches!((facts.harm_since(), demand.onset), (Some(harm), Some(more)) if surely_before(&harm, &more));
    if came_before {
        return None;
    }
    let summary = format!("demand from outside: {}; {}", quote(demand), quote(harm));
    let mut decision = decide(Label::Symptom, &summary, [demand, harm]);
    decision = decision.claiming(claim(
        (by, facts.entity),
        quote(demand),
        quote(harm),
        [demand.id(), harm.id()],
    ));
    rate(&mut decision, by, 700);
    rate(&mut decision, facts.entity, 200);
    Some(claim_exhausted_callees(decision, facts))
}
