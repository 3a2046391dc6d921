//! The rule *gets nothing done*.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{Decision, EvidenceKind, Finding, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::books::own_part;
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::Rule;
use crate::signs::{is_nearly_full, role};

/// Less than this share of the usual traffic is less than half.
const LESS: f64 = 0.5;

/// Half is the majority: who makes less of what is held longer does not explain it.
const MAJORITY: f64 = 0.5;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "gets nothing done",
    when: "it takes less than half of the usual while nearly all of a resource of it is used, and no callee became slower in the same measure, fails or does worse",
    decides: "`origin` without a change",
    propose: |facts| Explanation::sharing(propose(facts), own_part(facts)),
};

/// **Gets nothing done.** What is in use, divided by what is done with it, is how long each piece of work holds its
/// place (Little's law). Where that became many times as long and no callee did, the work hangs here.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let drop = facts.drop_of_traffic().filter(|drop| drop.peer.is_none())?;
    let full = facts.harms.iter().copied().find(|harm| {
        harm.kind == EvidenceKind::Metric && harm.peer.is_none() && is_nearly_full(harm)
    })?;
    let less = times(drop)?;
    if less >= LESS || !facts.early_surges().is_empty() {
        return None;
    }
    let held = times(full)? / less.max(f64::MIN_POSITIVE);
    let explains = |finding: &&&Finding| {
        role(finding) == Some(PeerRole::Callee)
            && finding.trend == Trend::Rising
            && match finding.signal {
                Signal::Latency => times(finding).is_none_or(|times| times >= MAJORITY * held),
                Signal::Errors => true,
                _ => false,
            }
    };
    let is_harmed = |label| matches!(label, Some(Label::Origin));
    let by_callee = facts.harms.iter().any(|harm| explains(&harm))
        || facts.upstream().into_iter().any(|other| {
            facts.calls(other) && is_harmed(facts.label_of(other)) && !facts.blames_me(other)
        });
    if by_callee {
        return None;
    }
    let summary = format!(
        "gets nothing done: {}; {}; what is in use, divided by what is done, is how long each piece of work is held",
        quote(drop),
        quote(full)
    );
    let mut decision = decide(Label::Origin, &summary, [full, drop]);
    rate(&mut decision, facts.entity, 600);
    Some(decision)
}

/// How many times its usual a finding measures.
fn times(finding: &Finding) -> Option<f64> {
    let quantity = finding.quantity.as_ref()?;
    let usual = quantity.baseline.filter(|usual| *usual > 0.0)?;
    Some(quantity.observed / usual)
}
