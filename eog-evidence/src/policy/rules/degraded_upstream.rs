//! The rule *degraded upstream*.

use eog_core::{Decision, EvidenceId, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::load::claim_exhausted_callees;
use crate::policy::rule::{Nature, Rule};

/// At most this many degraded neighbours are claimed.
const MAX_CLAIMED: usize = 2;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "degraded upstream",
    when: "harm, and an upstream neighbour whose share is not known, and whose answers are not measured to be as fast and as good as ever (one that only writes log lines: to fail no more), says `symptom` or `origin` without accusing this entity",
    decides: "`symptom`; that neighbour → itself, at most two, origins first",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Degraded upstream.** The entity does worse, and a neighbour that effects come from says that
/// it is a symptom or an origin: that neighbour explains it. Who answers as fast and as well as ever is not felt here.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
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
    Some(claim_exhausted_callees(decision, facts))
}
