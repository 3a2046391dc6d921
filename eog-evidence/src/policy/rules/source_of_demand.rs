//! The rule *source of demand*.

use eog_core::{Decision, Finding, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "source of demand",
    when: "named as a cause, sends more traffic than usual, and nobody is upstream of it",
    decides: "`origin` without a change; itself → those that name it",
    nature: Nature::Takes,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Source of demand.** Whom it sends traffic to names it as the cause, it sends more than usual, and
/// nothing that could explain this lies behind it: users, a load generator, a partner. What changed there
/// is not on record.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    if facts.accusations.is_empty() || !facts.upstream().is_empty() || !facts.routes.is_empty() {
        return None;
    }
    let sent: Vec<&Finding> = facts.more_sent().collect();
    let first = *sent.first()?;
    let summary = format!(
        "source of demand: {}; nobody upstream of {} can explain it, and {} of it is on \
         record",
        quote(first),
        facts.entity,
        facts.no_change()
    );
    let mut decision = decide(Label::Origin, &summary, sent.iter().take(3).copied());
    for (accuser, _) in facts.accusations.iter().take(3) {
        let more = sent
            .iter()
            .find(|more| more.peer.as_ref().is_some_and(|callee| callee.entity == **accuser));
        let Some(more) = more else { continue };
        let seen = "more is asked of it than usual";
        decision =
            decision.claiming(claim((facts.entity, accuser), quote(more), seen, [more.id()]));
    }
    rate(&mut decision, facts.entity, 600);
    Some(decision)
}
