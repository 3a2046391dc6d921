//! The rule *turned away*.

use std::collections::BTreeSet;

use eog_core::evidence::PeerRole;
use eog_core::{Claim, Decision, EntityId, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::signs::role;

/// Less than half arrives: most of what is sent does not.
const MOST: f64 = 0.5;

/// As many callers share what they call, and not what they do.
const CALLERS: usize = 2;

/// At most this many callers are claimed.
const MAX_CLAIMED: usize = 3;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "turned away",
    when: "less than half of the usual traffic arrives, at least two callers say that calls to it fail, it measures no failure, and nothing that it rests on does worse",
    decides: "`origin` without a change; itself → these callers",
    nature: Nature::Felt,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Turned away.** Several callers find that calls to the entity fail, and most of these never get to where it counts
/// them: a certificate that expired, a port that is closed, a name that leads nowhere. What they have in common is whom
/// they call.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let drop = facts.drop_of_traffic().filter(|drop| drop.peer.is_none())?;
    let quantity = drop.quantity.as_ref()?;
    if quantity.observed >= MOST * quantity.baseline? {
        return None;
    }
    if facts.harms.iter().any(|harm| role(harm) != Some(PeerRole::Caller)) {
        return None;
    }
    let rests_on = |other: &&EntityId| !facts.is_called_by(other);
    if facts.degraded_upstream().iter().any(rests_on) || !facts.routes.is_empty() {
        return None;
    }
    let accusers = facts.accusations.iter().filter(|(sender, _)| facts.is_called_by(sender));
    let accusers: Vec<&(&EntityId, &Claim)> = accusers.collect();
    let callers: BTreeSet<&EntityId> = accusers.iter().map(|(sender, _)| *sender).collect();
    if callers.len() < CALLERS {
        return None;
    }
    let names: Vec<&str> = callers.iter().take(MAX_CLAIMED).map(|name| name.as_str()).collect();
    let summary = format!(
        "turned away: {}; calls of {} to {} fail, and it measures no failure",
        quote(drop),
        names.join(" and "),
        facts.entity
    );
    let harms = facts.harms.iter().copied().take(2);
    let mut decision = decide(Label::Origin, &summary, std::iter::once(drop).chain(harms));
    for (caller, theirs) in accusers.iter().take(MAX_CLAIMED) {
        let observed = theirs.observed.clone();
        decision =
            decision.claiming(claim((facts.entity, caller), quote(drop), observed, [drop.id()]));
    }
    rate(&mut decision, facts.entity, 600);
    Some(decision)
}
