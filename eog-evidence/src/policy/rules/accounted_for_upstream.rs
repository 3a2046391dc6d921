//! The rule *accounted for upstream*.

use eog_core::evidence::Signal;
use eog_core::{Decision, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::books::{explained, harms_of, score};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::load::claim_exhausted_callees;
use crate::policy::rule::{Nature, Rule};

pub(in crate::policy) const RULE: Rule = Rule {
    name: "accounted for upstream",
    when: "shares of at least half together, of at most two neighbours; or, where nothing adds up, neighbours that deviated no later",
    decides: "`symptom`; those neighbours → itself, at most two; three where nothing adds up",
    nature: Nature::Other,
    propose: |facts| {
        let share = explained(facts).map(|(_, explaining)| {
            explaining.iter().map(|(_, share, _)| share).sum::<f64>().min(1.0)
        });
        Explanation::sharing(propose(facts), share)
    },
};

/// **Accounted for upstream.** Upstream neighbours account for at least half of what the entity
/// has too much of: they explain it. The smallest set that does so is claimed, those that account
/// for most first.
///
/// Where nothing adds up, every neighbour that deviated no later is claimed.
///
/// A resource that ran out and an experiment that ran are the entity's own.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    if facts.failures.iter().any(|failure| failure.signal != Signal::Availability) {
        return None;
    }
    let (signal, explaining) = explained(facts)?;
    let (_, _, first) = explaining.first()?;
    let names: Vec<&str> = explaining.iter().map(|(peer, _, _)| peer.as_str()).collect();
    let summary = format!("accounted for upstream: {}: {}", names.join(" and "), quote(first));
    let harms = harms_of(facts, signal);
    let notes = explaining.iter().map(|(_, _, note)| *note);
    let mut decision = decide(Label::Symptom, &summary, notes.chain(harms.iter().copied()));
    let observed = harms.first().map_or_else(|| quote(first), |harm| quote(harm));
    for (peer, share, note) in &explaining {
        let said = facts.message(peer).map(|belief| &belief.summary);
        let condition =
            said.map_or_else(|| quote(note), |summary| crate::text::shorten(summary, 160));
        let ids = std::iter::once(note.id()).chain(harms.first().map(|harm| harm.id()));
        decision = decision.claiming(claim((peer, facts.entity), condition, observed.clone(), ids));
        rate(&mut decision, peer, score(*share));
    }
    for (peer, share, _) in facts.sharers(signal) {
        rate(&mut decision, peer, score(share) / 2);
    }
    rate(&mut decision, facts.entity, 100);
    Some(claim_exhausted_callees(decision, facts))
}
