//! The rule *rests on what fails*.

use eog_core::{Decision, Finding, Label};

use crate::policy::answer::{claim, decide, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "rests on what fails",
    when: "accused by a caller, no harm, and an upstream neighbour that it does not call, such as its pod, does worse",
    decides: "`symptom`; that neighbour → itself",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Rests on what fails.** A caller names the entity as its cause, the entity itself shows nothing
/// unusual, and what it rests on, such as the pod behind a service, does worse: whatever still
/// reaches it goes well, and the rest does not reach it.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let (sender, _) = facts.accusations.iter().find(|(sender, _)| facts.is_called_by(sender))?;
    if facts.is_degraded() {
        return None;
    }
    let mut failing = facts.degraded_upstream();
    failing.retain(|other| !facts.calls(other));
    let other = *failing.first()?;
    let belief = facts.message(other)?;
    let said = crate::text::shorten(&belief.summary, 160);
    let summary = format!(
        "rests on what fails: {sender} names {} as its cause; it shows nothing unusual of its own, \
         but rests on {other}: {said}",
        facts.entity
    );
    let own = facts.findings().iter().take(1);
    let seen = "nothing unusual of its own, but not all that is asked reaches it";
    let ids = belief.evidence.iter().take(3).chain(own.clone().map(Finding::id));
    let mut decision = decide(Label::Symptom, &summary, own.clone()).claiming(claim(
        (other, facts.entity),
        said,
        seen,
        ids,
    ));
    rate(&mut decision, other, 500);
    rate(&mut decision, facts.entity, 100);
    Some(decision)
}
