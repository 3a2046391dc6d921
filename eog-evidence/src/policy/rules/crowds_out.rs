//! The rule *crowds out*.

use eog_core::evidence::Signal;
use eog_core::{Decision, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "crowds out",
    when: "it takes most of what is used more of a resource that it shares with others, that is busy (0.6), and no more requests explain it",
    decides: "`origin` without a change; itself → what it takes up",
    nature: Nature::Takes,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Crowds out.** The entity takes up what others need. It may do well itself: who takes most suffers least.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let note = facts.crowding_out().next()?;
    let host = note.peer.as_ref().map(|peer| &peer.entity)?;
    let used = facts.harms.iter().copied().filter(|harm| harm.signal == Signal::Saturation);
    let used: Vec<_> = used.take(2).collect();
    let summary = format!("crowds out: {}", quote(note));
    let mut decision = decide(Label::Origin, &summary, used.iter().copied().chain([note]));
    let observed = format!("{host} is busy");
    let ids = std::iter::once(note.id()).chain(used.iter().map(|one| one.id()));
    decision = decision.claiming(claim((facts.entity, host), quote(note), observed, ids));
    rate(&mut decision, facts.entity, 700);
    Some(decision)
}
