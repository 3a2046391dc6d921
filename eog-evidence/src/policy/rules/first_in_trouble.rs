//! The rule *first in trouble*.

use eog_core::evidence::{PeerRole, Signal};
use eog_core::{Decision, EntityId, EvidenceId, EvidenceKind, Finding, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::books::own_part;
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::felt::claim_those_who_feel_it;
use crate::policy::rule::{Nature, Rule};
use crate::signs::{is_nearly_full, is_slight, role};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "first in trouble",
    when: "somebody asks about it, or rests on it and does worse while it rests on nobody; own harm of measured onset that more than an alert and more than a full resource tells of, and all upstream neighbours have said what they know; or such harm where the search ends",
    decides: "`origin` without a change; of what nobody calls, such as a host, itself → neighbours that rest on it and do worse without naming it, at most three",
    nature: Nature::Inferred,
    propose: |facts| Explanation::sharing(propose(facts), own_part(facts)),
};

/// **First in trouble.** The entity does worse by itself, and of all whom effects come from nobody
/// did worse before: whatever was changed here is not on record.
///
/// Without a measured onset nothing is known to have come first, and the harm must be such as leads to
/// what the alert here speaks of. A rule that names somebody upstream comes before this one; here it matters that all of them were
/// heard. Where the books are kept and do not say that the rest is its own, what is not measured may
/// hold it; so that, too, is left until the search ends here.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let kept = !facts.shares.is_empty() && !facts.at_dead_end();
    let is_asked = facts.is_concerned() || facts.bears_others_in_trouble();
    if kept || !is_asked || !facts.has_heard_upstream() {
        return None;
    }
    // Where the search ends, callers that know of no more demand send what they try again.
    let by_callers = facts.surges.iter().any(|surge| role(surge) == Some(PeerRole::Caller));
    let is_sent = !facts.at_dead_end() || facts.callers().is_empty() || by_callers;
    if !facts.routes.is_empty() || is_sent && !facts.early_surges().is_empty() {
        return None;
    }
    if facts.harm_since().is_none() && !facts.at_dead_end() {
        return None;
    }
    let own: Vec<&Finding> =
        facts.harms.iter().copied().filter(|harm| is_seen_here(harm, facts)).collect();
    let first = own.first()?;
    let summary = format!(
        "first in trouble: {}; nobody upstream is known to do worse before it, and {} of {} is on \
         record",
        quote(first),
        facts.no_change(),
        facts.entity
    );
    let ids: Vec<&EvidenceId> = own.iter().take(3).map(|harm| harm.id()).collect();
    let mut decision = decide(Label::Origin, &summary, own.iter().copied().take(3));
    rate(&mut decision, facts.entity, 400);
    // Callers measure their calls; who rests on a host measures nothing of it.
    if facts.bears_others_in_trouble() && facts.callers().is_empty() {
        decision = claim_those_who_feel_it(decision, facts, |_| true, &quote(first), &ids);
    }
    Some(decision)
}

/// Trouble that shows on the entity itself, other than by an alert, and matters. A busy resource alone harms
/// nobody until it is nearly full, and who rests on others may be full of what waits for them: unless all of
/// them found themselves healthy or, where the search ends, none of them is an origin.
fn is_seen_here(harm: &Finding, facts: &Facts<'_>) -> bool {
    let is_well = |other: &&EntityId| match facts.label_of(other) {
        Some(Label::Origin) => false,
        Some(Label::Healthy) => true,
        _ => facts.at_dead_end(),
    };
    let is_full = || is_nearly_full(harm) && facts.upstream().iter().all(is_well);
    // An event that tells of a full resource is raised where it matters.
    let resource = harm.signal == Signal::Saturation && harm.kind != EvidenceKind::Event;
    let kind = harm.kind != EvidenceKind::Alert && (!resource || is_full());
    // What a log complains of harms nobody where no more requests fail.
    let is_idle_talk = harm.kind == EvidenceKind::Log && facts.fails_as_usual();
    // Who has the first error lines of its requests is where they come from.
    let is_passed_on = facts.errors_passed_on().any(|(_, joined)| joined.id() == harm.id());
    let is_own = role(harm) != Some(PeerRole::Callee) && !is_passed_on;
    kind && is_own && !is_idle_talk && !is_slight(harm)
}
