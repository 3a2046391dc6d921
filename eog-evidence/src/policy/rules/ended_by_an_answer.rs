//! The rule *ended by an answer*.

use eog_core::evidence::{PeerRole, Signal};
use eog_core::{Decision, EntityId, Finding, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::signs::role;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "ended by an answer",
    when: "requests end once a callee has answered, and did not before, here and at another of its callers, or for several operations; no call that is made fails or is slow, and no time is its own",
    decides: "`symptom`; that callee → itself",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Ended by an answer.** Requests that ask a callee went on after its answer, and now end with it: what it answers
/// is not what it was. An entity that takes longer itself may be cut off anywhere, and by chance there.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    if facts.harms.iter().any(|harm| role(harm) == Some(PeerRole::Callee)) {
        return None;
    }
    if facts.remainders.iter().any(|rest| rest.signal == Signal::Latency) {
        return None;
    }
    let is_open = |(callee, _): &(&EntityId, &Finding)| {
        !facts.blames_me(callee) && facts.label_of(callee) != Some(Label::Healthy)
    };
    let mut ended = facts.ended_by().filter_map(|note| Some((&note.peer.as_ref()?.entity, note)));
    let (callee, note) = ended.find(is_open)?;
    let harms = facts.harms.iter().copied().take(2);
    let summary = format!("ended by an answer: {}", quote(note));
    let mut decision = decide(Label::Symptom, &summary, std::iter::once(note).chain(harms));
    let observed = facts.harms.first().map_or_else(|| quote(note), |harm| quote(harm));
    let because = claim((callee, facts.entity), quote(note), observed, [note.id()]);
    decision = decision.claiming(because);
    rate(&mut decision, callee, 500);
    rate(&mut decision, facts.entity, 200);
    Some(decision)
}
