//! The rule *less arrives*.

use eog_core::evidence::PeerRole;
use eog_core::{Decision, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::signs::role;

/// At most this many neighbours are claimed.
const MAX_CAUSES: usize = 2;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "less arrives",
    when: "falling traffic, no harm but what callers see of it, and something that it rests on, or a caller, does worse",
    decides: "`symptom`; that → itself, at most two",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// **Less arrives.** Less is asked of an entity that shows no failure of its own: what it rests on
/// explains that when it does worse, else the callers that do worse, of which calls may fail on
/// the way. Calls that callers see fail are no failure of its own when hardly any reach it.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let drop = facts.drop_of_traffic()?;
    if facts.harms.iter().any(|harm| role(harm) != Some(PeerRole::Caller)) {
        return None;
    }
    let mut causes = facts.degraded_upstream();
    causes.retain(|cause| !facts.calls(cause));
    if causes.is_empty() {
        causes = facts.callers();
        causes.retain(|caller| {
            matches!(facts.label_of(caller), Some(Label::Symptom | Label::Origin))
        });
    }
    causes.truncate(MAX_CAUSES);
    let names: Vec<&str> = causes.iter().map(|cause| cause.as_str()).collect();
    let summary = format!(
        "less arrives: {}; {} shows no failure of its own, {} does",
        quote(drop),
        facts.entity,
        names.join(" and ")
    );
    let mut decision = decide(Label::Symptom, &summary, [drop]);
    for cause in &causes {
        let condition = crate::text::shorten(&facts.message(cause)?.summary, 160);
        decision =
            decision.claiming(claim((cause, facts.entity), condition, quote(drop), [drop.id()]));
        rate(&mut decision, cause, 400);
    }
    rate(&mut decision, facts.entity, 100);
    (!causes.is_empty()).then_some(decision)
}
