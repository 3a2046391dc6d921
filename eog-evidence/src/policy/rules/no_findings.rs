//! The rule *no findings*.

use eog_core::{Decision, Label};

use crate::policy::answer::{decide, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::Rule;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "no findings",
    when: "no findings at all",
    decides: "`Defer`",
    propose: |facts| Explanation::unexplained(propose(facts)),
};

/// **No findings.** Nothing is known about the entity.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let summary = format!("no findings: nothing is known about {} in the window", facts.entity);
    let mut decision = decide(Label::Defer, &summary, []);
    rate(&mut decision, facts.entity, 50);
    Some(decision)
}
