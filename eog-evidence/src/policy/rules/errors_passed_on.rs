//! The rule *errors passed on*.

use eog_core::{Decision, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "errors passed on",
    when: "of requests with error lines here and elsewhere, more than usual have an earlier one at an upstream neighbour",
    decides: "`symptom`; that neighbour → itself",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Errors passed on.** Lines that name their request tell who complained before this entity did. Who calls it may
/// have given up before it failed: only those count whom effects come from.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let upstream = facts.upstream();
    let (first, finding) = facts.errors_passed_on().find(|(first, _)| {
        upstream.contains(first)
            && facts.label_of(first) != Some(Label::Healthy)
            && !facts.blames_me(first)
    })?;
    let summary = format!("errors passed on: {}", quote(finding));
    let mut decision = decide(Label::Symptom, &summary, [finding]);
    let condition = facts.message(first).map_or_else(
        || "its error comes first".to_owned(),
        |belief| crate::text::shorten(&belief.summary, 160),
    );
    decision =
        decision.claiming(claim((first, facts.entity), condition, quote(finding), [finding.id()]));
    rate(&mut decision, first, 500);
    rate(&mut decision, facts.entity, 100);
    Some(decision)
}
