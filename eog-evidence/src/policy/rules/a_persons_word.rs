//! The rule *a person's word*.

use eog_core::evidence::Verdict;
use eog_core::{Decision, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "a person's word",
    when: "a person says that it is the cause; or that it is not, and nothing here contradicts that",
    decides: "`origin` without a change; `healthy`",
    nature: Nature::Stated,
    propose: |facts| Explanation::stated(propose(facts)),
};

/// **A person's word.** Who answers knows more than the records: what they say counts for what it
/// says. That the entity is not the cause makes it healthy only where no harm is on record; with
/// harm it leaves the entity to the explanations that name somebody else. An explanation that says
/// the same and why comes before the bare word.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let (verdict, note) = facts.verdicts().next()?;
    let label = match verdict {
        Verdict::Cause => Label::Origin,
        Verdict::NotCause if facts.is_degraded() || facts.drop_of_traffic().is_some() => {
            return None;
        }
        Verdict::NotCause => Label::Healthy,
    };
    let harms = facts.harms.iter().take(2).copied();
    let summary = format!("a person's word: {}", quote(note));
    let mut decision = decide(label, &summary, std::iter::once(note).chain(harms));
    rate(&mut decision, facts.entity, if label == Label::Origin { 800 } else { 0 });
    Some(decision)
}
