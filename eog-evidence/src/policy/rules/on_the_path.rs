//! The rule *on the path*.

use eog_core::{Decision, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::link::link;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "on the path",
    when: "accused, no harm, and a route that precedes any surge",
    decides: "`defer`; next hop → itself",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **On the path.** A neighbour names the entity as its cause, the entity itself shows nothing
/// unusual, and a change elsewhere has a path through it: it passes the effect on, as a
/// configuration or a proxy does.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let (sender, _) = facts.accusations.first()?;
    if facts.is_degraded() {
        return None;
    }
    let route = match facts.surges.first() {
        Some(surge) => facts.route_before(surge)?,
        None => facts.routes.first()?,
    };
    let hop = &route.peer.as_ref()?.entity;
    let summary = format!(
        "on the path: {sender} names {} as its cause; it shows nothing unusual of its own, but {}",
        facts.entity,
        quote(route)
    );
    let mut decision = decide(Label::Defer, &summary, [route]).claiming(claim(
        (hop, facts.entity),
        link(facts, hop, route),
        "nothing unusual of its own, it lies on the path",
        [route.id()],
    ));
    rate(&mut decision, hop, 500);
    rate(&mut decision, facts.entity, 200);
    Some(decision)
}
