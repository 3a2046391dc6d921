//! The rule *demand enters here*.

use eog_core::evidence::PeerRole;
use eog_core::incident::Direction;
use eog_core::{Decision, EntityId, Finding, Label};

use crate::policy::answer::{decide, propose as propose_neighbours, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::load::claim_exhausted_callees;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "demand enters here",
    when: "a surge, no caller known to send it, and not all of them heard; no route that precedes it, no degraded upstream neighbour; the entity is harmed or accused",
    decides: "`defer`, at a dead end `origin`; itself → each exhausted callee; proposes callers",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Demand enters here.** Traffic rose, nobody upstream is known to send it, and no change is on
/// record: it came from outside, but what changed there is not known. Callers, if any, may know.
/// Applies to an entity that does worse or is named as a cause. When the search ends here, it is
/// the origin as far as anything on record goes, without a change.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let surge = *facts.early_surges().first()?;
    let sent = |surge: &&Finding| crate::signs::role(surge) == Some(PeerRole::Caller);
    let concerned = facts.is_degraded() || !facts.accusations.is_empty();
    if !concerned || facts.surges.iter().any(sent) {
        return None;
    }
    if has_heard_callers(facts) {
        return None;
    }
    let explained = !facts.routes.is_empty() || !facts.degraded_upstream().is_empty();
    if (facts.is_degraded() && explained) || facts.route_before(surge).is_some() {
        return None;
    }
    // Who has callers gets its traffic from them: from what changed there, or from their retries.
    let enters = facts.at_dead_end() && facts.callers().is_empty();
    let label = if enters { Label::Origin } else { Label::Defer };
    let summary = format!(
        "demand enters here: {}; no caller is known to send it, and nothing changed within {} \
         that is on record",
        quote(surge),
        facts.entity
    );
    let mut decision = decide(label, &summary, facts.surges.iter().take(3).copied());
    rate(&mut decision, facts.entity, 600);
    let reason = format!("may send the traffic that rose at {}", facts.entity);
    decision = propose_neighbours(decision, facts.callers(), Direction::Downstream, &reason);
    Some(claim_exhausted_callees(decision, facts))
}

/// Whether all callers have said what they know. Of those that send more a rule before this one tells, so that what is left is
/// tried again.
fn has_heard_callers(facts: &Facts<'_>) -> bool {
    let callers = facts.callers();
    let knows = |caller: &&EntityId| facts.label_of(caller).is_some_and(|it| it != Label::Defer);
    !callers.is_empty() && callers.iter().all(knows)
}
