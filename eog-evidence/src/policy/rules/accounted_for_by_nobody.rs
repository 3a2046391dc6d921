//! The rule *accounted for by nobody*.

use eog_core::incident::Direction;
use eog_core::{Decision, Label};

use crate::policy::answer::{decide, propose as propose_neighbours, quote, rate};
use crate::policy::books::{MINOR, harms_of, own_part, score};
use crate::policy::explanation::{Explanation, Standing};
use crate::policy::facts::Facts;
use crate::policy::facts::share_of;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "accounted for by nobody",
    when: "a remainder of at least a tenth; doubtful while most parts of the entity, such as its pods, name one other cause",
    decides: "`origin` without a change; proposes at most two neighbours with a share",
    nature: Nature::Inferred,
    propose: |facts| {
        let rest = facts.remainders.first().map(|rest| share_of(rest));
        let share = rest.map(|rest| own_part(facts).map_or(rest, |part| part.min(rest)));
        let mut explanations = Explanation::sharing(propose(facts), share);
        if let Some(cause) = facts.named_by_most_parts() {
            let doubt = format!("most of its parts name {cause}, and it acts only through them");
            explanations.iter_mut().for_each(|one| one.lower(Standing::Doubtful, doubt.clone()));
        }
        explanations
    },
};

/// **Accounted for by nobody.** What the entity has too much of stands out, all its upstream
/// neighbours are known, and they do not account for most of it: it is its own, and an origin that
/// cites no change. Neighbours that account for a part are proposed: they may be further origins.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let rest = *facts.remainders.first().filter(|rest| share_of(rest) >= MINOR)?;
    let harms = harms_of(facts, rest.signal);
    let seen = harms.first().map_or_else(String::new, |harm| quote(harm));
    let summary = format!("accounted for by nobody: {seen}; {}", quote(rest));
    let cited = harms.iter().take(2).copied().chain([rest]);
    let mut decision = decide(Label::Origin, &summary, cited);
    rate(&mut decision, facts.entity, score(share_of(rest)));
    let sharers = facts.sharers(rest.signal);
    for (peer, share, _) in &sharers {
        rate(&mut decision, peer, score(*share) / 2);
    }
    let reason = format!("accounts for a part of what {} shows", facts.entity);
    Some(propose_neighbours(
        decision,
        sharers.iter().map(|(peer, _, _)| *peer),
        Direction::Upstream,
        &reason,
    ))
}
