//! The rule *crowded*.

use eog_core::{Decision, EntityId, EvidenceId, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::felt::claim_those_who_feel_it;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "crowded",
    when: "a resource that others share is busy (0.6), and one of those that rest on it takes most of what is used more",
    decides: "`symptom`; that one → itself; itself → others that rest on it and do worse without naming it, at most three",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Crowded.** What an entity has for all that rest on it is taken up by one of them.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let note = facts.crowded()?;
    let taker = note.peer.as_ref().map(|peer| &peer.entity)?;
    let harms: Vec<_> = facts.harms.iter().copied().take(2).collect();
    let summary = format!("crowded: {}", quote(note));
    let mut decision =
        decide(Label::Symptom, &summary, std::iter::once(note).chain(harms.iter().copied()));
    let observed = harms.first().map_or_else(|| quote(note), |harm| quote(harm));
    let ids: Vec<&EvidenceId> =
        std::iter::once(note.id()).chain(harms.first().map(|harm| harm.id())).collect();
    let cited = ids.iter().copied();
    decision = decision.claiming(claim((taker, facts.entity), quote(note), observed, cited));
    rate(&mut decision, taker, 700);
    rate(&mut decision, facts.entity, 200);
    // Who takes it up suffers least of it, and is its cause.
    let others = |other: &EntityId| other != taker;
    Some(claim_those_who_feel_it(decision, facts, others, &quote(note), &ids))
}
