//! The rule *failure of a part*.

use eog_core::{Decision, Finding, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::Rule;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "failure of a part",
    when: "as *own failure*, but what failed first, and alone, is one part of the entity, such as a pod of a workload",
    decides: "`symptom`; the part → itself",
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Failure of a part.** As *own failure*, but what failed first, and alone, is one part of the
/// entity, such as a pod of a workload: the part explains the whole. Where several parts failed,
/// the whole does.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    if !facts.fails_by_itself() {
        return None;
    }
    let first = *facts.failures.iter().min_by_key(|failure| failure.time.start())?;
    let is_part = |failure: &&&Finding| failure.entity != *facts.entity;
    let mut parts = facts.failures.iter().filter(is_part).map(|failure| &failure.entity);
    let part = Some(&first.entity).filter(|part| *part != facts.entity)?;
    if parts.any(|other| other != part) {
        return None;
    }
    let summary = format!("failure of a part: {}; {part} failed first, and alone", quote(first));
    let of_part = facts.failures.iter().filter(is_part).take(3).copied();
    let mut decision = decide(Label::Symptom, &summary, of_part).claiming(claim(
        (part, facts.entity),
        quote(first),
        quote(first),
        [first.id()],
    ));
    rate(&mut decision, part, 500);
    rate(&mut decision, facts.entity, 200);
    Some(decision)
}
