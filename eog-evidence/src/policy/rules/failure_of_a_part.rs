//! The rule *failure of a part*.

use eog_core::{Decision, Finding, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "failure of a part",
    when: "as *own failure* or *no longer available*, but what failed first, and alone, is one part of the entity, such as a pod of a workload",
    decides: "`symptom`; the part → itself",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Failure of a part.** As *own failure* or *no longer available*, but what failed first, and alone, is one part of the
/// entity, such as a pod of a workload: the part explains the whole. Where several parts failed,
/// the whole does.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let first = first_of_a_part(facts).filter(|_| facts.fails_by_itself())?;
    let (part, is_part) = (&first.entity, |failure: &&&Finding| failure.entity != *facts.entity);
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

/// The first failure, if it is that of the only part that failed.
pub(super) fn first_of_a_part<'a>(facts: &Facts<'a>) -> Option<&'a Finding> {
    let first = *facts.failures.iter().min_by_key(|failure| failure.time.start())?;
    let mut failed = facts.failures.iter().map(|failure| &failure.entity);
    let alone = failed.all(|other| *other == first.entity || other == facts.entity);
    (alone && first.entity != *facts.entity).then_some(first)
}
