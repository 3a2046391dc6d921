//! The rule *own failure*.

use eog_core::evidence::Signal;
use eog_core::{Decision, EntityId, EvidenceId, Finding, Label};

use super::failure_of_a_part::first_of_a_part;
use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::felt::claim_those_who_feel_it;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "own failure",
    when: "it ran out, was killed or was made to fail; more than an alert tells of that, and no earlier surge, no earlier change upstream and no part of it that failed first, and alone (both unless the search ends here), explains it",
    decides: "`origin` without a change; itself → a caller that wrongly claims to have overloaded it, and → neighbours that rest on it and do worse without naming it, at most three each",
    nature: Nature::Fails,
    propose: |facts| {
        // What its only failed part explains comes first, unless that was tried.
        let is_open = facts.at_dead_end() || first_of_a_part(facts).is_none();
        let own = propose(facts, RULE.name).filter(|_| is_open && has_own(facts));
        Explanation::possible(own)
    },
};

/// Whether one of the failures is the entity's own, whatever others do. Who waits for others in vain is not available either.
pub(super) fn has_own(facts: &Facts<'_>) -> bool {
    facts.failures.iter().any(|failure| is_own(failure))
}

fn is_own(failure: &Finding) -> bool {
    failure.signal != Signal::Availability
}

/// **Own failure.** The entity ran out of a resource, crashed, or was made to fail, no more
/// traffic is known to have come before, and nothing upstream explains it: an origin that cites no
/// change, so never a confirmed one. An alert alone does not make one.
///
/// A change elsewhere with a path here that precedes the failure explains it, unless the search ends here.
pub(super) fn propose(facts: &Facts<'_>, name: &str) -> Option<Decision> {
    let own = facts.failures.iter().find(|failure| is_own(failure));
    let first = *own.or(facts.failures.first()).filter(|_| facts.fails_by_itself())?;
    let summary = format!(
        "{name}: {}; {} of {} is on record, no more traffic is known to have come before, and \
         nothing upstream explains it",
        quote(first),
        facts.no_change(),
        facts.entity
    );
    let mut decision = decide(Label::Origin, &summary, facts.failures.iter().take(3).copied());
    rate(&mut decision, facts.entity, 500);
    let ids: Vec<&EvidenceId> = facts.failures.iter().take(3).map(|failure| failure.id()).collect();
    for caller in wrongly_claiming_callers(facts) {
        let observed = format!("{caller} takes it for the effect of its load");
        let ids = ids.iter().copied();
        decision = decision.claiming(claim((facts.entity, caller), quote(first), observed, ids));
    }
    Some(claim_those_who_feel_it(decision, facts, |_| true, &quote(first), &ids))
}

/// Callers that hold their load for the cause of the failure, although no more load came.
fn wrongly_claiming_callers<'a>(facts: &Facts<'a>) -> Vec<&'a EntityId> {
    let senders = facts.packet.inbox.iter().map(|message| &message.sender);
    senders.filter(|sender| facts.says(sender, sender, facts.entity)).take(3).collect()
}
