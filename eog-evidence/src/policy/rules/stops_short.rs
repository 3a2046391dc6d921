//! The rule *stops short*.

use eog_core::evidence::PeerRole;
use eog_core::{Decision, Finding, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::signs::role;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "stops short",
    when: "others are called at least a third less often for each request than usual, and no call that is made fails or is slow",
    decides: "`origin` without a change",
    nature: Nature::Traced,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Stops short.** The entity answers as many requests as usual, and asks less of others for each of them: it
/// returns, or fails, before it gets there. What it does not do says more of it than how long it takes:
/// failing is commonly faster than answering.
///
/// Where calls that it does make fail or are slow, these may be the reason.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let left_out: Vec<&Finding> = facts.left_out().collect();
    let first = *left_out.first()?;
    if facts.harms.iter().any(|harm| role(harm) == Some(PeerRole::Callee)) {
        return None;
    }
    if !facts.routes.is_empty() || !facts.early_surges().is_empty() {
        return None;
    }
    let harms = facts.harms.iter().copied().take(2);
    let summary = format!("stops short: {}", quote(first));
    let cited = left_out.iter().copied().take(3).chain(harms);
    let mut decision = decide(Label::Origin, &summary, cited);
    rate(&mut decision, facts.entity, 450);
    Some(decision)
}
