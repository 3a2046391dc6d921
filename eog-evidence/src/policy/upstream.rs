//! Rules that find the cause upstream: a change there, a degraded neighbour, what lies on the path.

use eog_core::incident::{CLAIM_RELATION, Direction};
use eog_core::{Decision, EntityId, EvidenceId, Finding, Label};

use super::answer::{claim, decide, quote, rate};
use super::demand;
use super::facts::{Facts, lasts_beyond};

/// At most this many degraded neighbours are claimed.
const MAX_CLAIMED: usize = 2;

/// **Changed upstream.** The entity does worse, and a change elsewhere has a path here: the next
/// hop towards that change explains it.
///
/// A change that precedes all harm is taken before one that precedes some, and that before one that
/// only falls into harm that was there already; of the latter the claim says that the earlier onset
/// is not explained. A change of demand acts by load alone and is left to the rule on traffic.
pub(super) fn changed_upstream(facts: &Facts<'_>) -> Option<Decision> {
    let followed = |route: &&Finding| {
        facts.harms.iter().find(|harm| harm.time.start() >= route.time.start()).copied()
    };
    let overlapped = |route: &&Finding| {
        facts.harms.iter().find(|harm| lasts_beyond(harm, route.time.start())).copied()
    };
    let since = facts.harms.iter().map(|harm| harm.time.start()).min();
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
    Some(demand::claim_exhausted_callees(decision, facts))
}

/// **Degraded upstream.** The entity does worse, and a neighbour that effects come from says that
/// it is a symptom or an origin: that neighbour explains it.
pub(super) fn degraded_upstream(facts: &Facts<'_>) -> Option<Decision> {
    let harm = *facts.harms.first()?;
    let mut neighbours = facts.degraded_upstream();
    neighbours.truncate(MAX_CLAIMED);
    let first = neighbours.first()?;

    let names: Vec<&str> = neighbours.iter().map(|neighbour| neighbour.as_str()).collect();
    let said = facts.message(first).map_or("", |belief| belief.summary.as_str());
    let summary = format!(
        "degraded upstream: {}; {} upstream does worse too: {}",
        quote(harm),
        names.join(" and "),
        crate::text::shorten(said, 160)
    );
    let mut decision = decide(Label::Symptom, &summary, facts.harms.iter().take(3).copied());
    for neighbour in &neighbours {
        let Some(belief) = facts.message(neighbour) else { continue };
        let condition = crate::text::shorten(&belief.summary, 160);
        let theirs: Vec<&EvidenceId> = belief.evidence.iter().take(3).collect();
        let ids = std::iter::once(harm.id()).chain(theirs);
        decision = decision.claiming(claim((neighbour, facts.entity), condition, quote(harm), ids));
        rate(&mut decision, neighbour, 400);
    }
    rate(&mut decision, facts.entity, 100);
    Some(demand::claim_exhausted_callees(decision, facts))
}

/// **On the path.** A neighbour names the entity as its cause, the entity itself shows nothing
/// unusual, and a change elsewhere has a path through it: it passes the effect on, as a
/// configuration or a proxy does.
pub(super) fn on_the_path(facts: &Facts<'_>) -> Option<Decision> {
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

/// **Rests on what fails.** A caller names the entity as its cause, the entity itself shows nothing
/// unusual, and what it rests on, such as the pod behind a service, does worse: whatever still
/// reaches it goes well, and the rest does not reach it.
pub(super) fn rests_on_what_fails(facts: &Facts<'_>) -> Option<Decision> {
    let (sender, _) = facts.accusations.iter().find(|(sender, _)| facts.is_called_by(sender))?;
    if facts.is_degraded() {
        return None;
    }
    let mut failing = facts.degraded_upstream();
    failing.retain(|other| !facts.calls(other));
    let other = *failing.first()?;
    let belief = facts.message(other)?;
    let said = crate::text::shorten(&belief.summary, 160);
    let summary = format!(
        "rests on what fails: {sender} names {} as its cause; it shows nothing unusual of its own, \
         but rests on {other}: {said}",
        facts.entity
    );
    let own = facts.findings().iter().take(1);
    let seen = "nothing unusual of its own, but not all that is asked reaches it";
    let ids = belief.evidence.iter().take(3).chain(own.clone().map(Finding::id));
    let mut decision = decide(Label::Symptom, &summary, own.clone()).claiming(claim(
        (other, facts.entity),
        said,
        seen,
        ids,
    ));
    rate(&mut decision, other, 500);
    rate(&mut decision, facts.entity, 100);
    Some(decision)
}

/// How a change elsewhere comes over one hop: the declared relation, and what was changed.
fn link(facts: &Facts<'_>, hop: &EntityId, route: &Finding) -> String {
    let mut declared = facts.packet.neighbours.iter().filter(|neighbour| {
        neighbour.entity == *hop
            && neighbour.relation != CLAIM_RELATION
            && neighbour.direction != Direction::Downstream
    });
    let relation = declared.next().map_or_else(
        || format!("{hop} affects {}", facts.entity),
        |neighbour| {
            let relation = neighbour.relation.replace('_', " ");
            if neighbour.outgoing {
                format!("{} {relation} {hop}", facts.entity)
            } else {
                format!("{hop} {relation} {}", facts.entity)
            }
        },
    );
    let change = route.change.as_ref();
    let change = change.map_or_else(|| quote(route), crate::text::change_in_words);
    format!("{relation}, on the path of the change of {change}")
}
