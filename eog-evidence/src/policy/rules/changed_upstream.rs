//! The rule *changed upstream*.

use eog_core::incident::Onset;
use eog_core::{Decision, Finding, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::delay::{LONG_BEFORE, shows_a_delay};
use crate::policy::explanation::{Explanation, Standing};
use crate::policy::facts::{Facts, begun_by, lasts_beyond};
use crate::policy::link::link;
use crate::policy::load::claim_exhausted_callees;
use crate::policy::rule::{Nature, Rule};
use crate::policy::times::{Delay, made};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "changed upstream",
    when: "harm, and a route",
    decides: "`symptom`; next hop → itself",
    nature: Nature::Other,
    propose,
};

/// **Changed upstream.** The entity does worse, and a change elsewhere has a path here: the next
/// hop towards that change explains it.
///
/// A change that precedes all harm is taken before one that precedes some, and that before one that
/// only falls into harm that was there already; of the latter the claim says that the earlier onset
/// is not explained. A change of demand acts by load alone and is left to the rule on traffic.
fn propose(facts: &Facts<'_>) -> Vec<Explanation> {
    let Some((decision, made, delay)) = explain(facts) else { return Vec::new() };
    let mut explanations = Explanation::possible(Some(decision));
    if delay.is_long() && !shows_a_delay(&made, facts) {
        for explanation in &mut explanations {
            explanation.lower(Standing::Doubtful, LONG_BEFORE);
        }
    }
    explanations
}

/// The decision, when the change was made, and how long before the harm that was.
fn explain(facts: &Facts<'_>) -> Option<(Decision, Onset, Delay)> {
    let followed = |route: &&Finding| {
        facts.harms.iter().find(|harm| begun_by(harm) >= route.time.start()).copied()
    };
    let overlapped = |route: &&Finding| {
        facts.harms.iter().find(|harm| lasts_beyond(harm, route.time.start())).copied()
    };
    let since = facts.harms.iter().map(|harm| begun_by(harm)).min();
    let before_all = |route: &&&Finding| since.is_some_and(|since| route.time.start() <= since);
    let whole = facts.routes.iter().find(before_all);
    let whole = whole.and_then(|route| Some((*route, followed(route)?, true)));
    let clean = || facts.routes.iter().find_map(|route| Some((*route, followed(route)?, true)));
    let late = || facts.routes.iter().find_map(|route| Some((*route, overlapped(route)?, false)));
    let (route, harm, explains_onset) = whole.or_else(clean).or_else(late)?;
    let hop = &route.peer.as_ref()?.entity;

    let mut condition = link(facts, hop, route);
    if !explains_onset {
        condition.push_str("; the earlier onset is not explained by this");
    }
    let summary = format!("changed upstream: {}; here: {}", quote(route), quote(harm));
    let cited = [route, harm].into_iter().chain(facts.harms.iter().take(2).copied());
    let mut decision = decide(Label::Symptom, &summary, cited).claiming(claim(
        (hop, facts.entity),
        condition,
        quote(harm),
        [route.id(), harm.id()],
    ));
    rate(&mut decision, hop, 600);
    rate(&mut decision, facts.entity, 100);
    let made = made(route);
    let delay = Delay::to(&made, facts.harm_since(), harm.time.start());
    Some((claim_exhausted_callees(decision, facts), made, delay))
}
