//! The rule *its answers end requests*.

use eog_core::evidence::PeerRole;
use eog_core::{Decision, Finding, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::signs::role;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "its answers end requests",
    when: "requests of at least two others, or for several operations of one, or of one while an alert speaks of it, end once it has answered, and did not before; no call that it makes fails or is slow",
    decides: "`origin` without a change",
    nature: Nature::Traced,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Its answers end requests.** Whoever asks it goes no further, at several places or while an alert speaks of it. It may measure nothing unusual: a wrong answer can be as
/// fast as a right one, and fails nothing here.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let ended: Vec<&Finding> = facts.ends_others().collect();
    let first = *ended.first()?;
    if facts.harms.iter().any(|harm| role(harm) == Some(PeerRole::Callee)) {
        return None;
    }
    if !facts.routes.is_empty() || !facts.early_surges().is_empty() {
        return None;
    }
    let harms = facts.harms.iter().copied().take(2);
    let summary = format!("its answers end requests: {}", quote(first));
    let mut decision = decide(Label::Origin, &summary, ended.iter().copied().take(3).chain(harms));
    rate(&mut decision, facts.entity, 450);
    Some(decision)
}
