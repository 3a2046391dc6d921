//! The rule *traffic amplification*.

use eog_core::evidence::{PeerRole, Signal};
use eog_core::{Decision, EntityId, Finding, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::load::{claim_exhausted_callees, senders};
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "traffic amplification",
    when: "the entity suffers from load, or is accused of overloading, or exhausted a callee; and somebody is known to send more",
    decides: "`symptom`; each sender → itself, itself → each exhausted callee",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Traffic amplification.** The entity suffers from load, or a callee says that this entity's
/// load exhausted it, and a caller sends more: the cause lies with the caller (paper B.6,
/// "transitive traffic amplification").
///
/// It suffers from load when it ran out of something, crashed, is fuller than usual, or does worse
/// without a failing callee. Load that rises after the failure (retries) is no cause of it.
///
/// Who sends more is known from traffic measured by caller; else, when the entity's own traffic
/// rose, from the path of a change of demand; else, for an entity that failed, from a caller that
/// says so and that no measured traffic contradicts.
///
/// A callee that failed without a change of its own is claimed the other way round: this entity →
/// callee, in place of callee → this entity.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let exhausted = facts.exhausted_callees();
    let accused = facts.accusations.iter().any(|(sender, _)| facts.is_load_on(sender));
    if !suffers_from_load(facts) && !accused && exhausted.is_empty() {
        return None;
    }
    let senders = senders(facts);
    let first = senders.first()?;
    let suffering = first_harm(facts);
    let observed = suffering.map_or_else(|| blame(facts, &exhausted), quote);
    let names: Vec<&str> = senders.iter().map(|sender| sender.entity.as_str()).collect();
    let summary = format!(
        "traffic amplification: {}; {observed}; {} of {} is on record, so the load from {} \
         explains it",
        first.condition,
        facts.no_change(),
        facts.entity,
        names.join(", ")
    );
    let cited = senders.iter().flat_map(|sender| sender.findings.iter().copied());
    let mut decision = decide(Label::Symptom, &summary, cited.chain(suffering));
    for sender in &senders {
        decision = decision.claiming(sender.claim(facts, suffering, &observed));
        rate(&mut decision, sender.entity, 600);
    }
    rate(&mut decision, facts.entity, 200);
    Some(claim_exhausted_callees(decision, facts))
}

fn suffers_from_load(facts: &Facts<'_>) -> bool {
    facts.overloaded_since().is_some()
        || (facts.is_degraded() && facts.failing_callees().is_empty())
}

/// The harm that load explains: hard failures and full resources before anything else.
fn first_harm<'a>(facts: &Facts<'a>) -> Option<&'a Finding> {
    let strained = facts.harms.iter().find(|harm| harm.signal == Signal::Saturation);
    let own =
        |harm: &&&Finding| harm.peer.as_ref().is_none_or(|peer| peer.role != PeerRole::Callee);
    facts.failures.first().or(strained).or_else(|| facts.harms.iter().find(own)).copied()
}

fn blame(facts: &Facts<'_>, exhausted: &[&EntityId]) -> String {
    let named = exhausted.first().copied().or(facts.accusations.first().map(|(sender, _)| *sender));
    named.map_or_else(String::new, |callee| format!("its load is more than {callee} can bear"))
}
