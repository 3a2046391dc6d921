//! Rules that find the origin in the entity itself: its own change, its own failure.

use eog_core::evidence::Signal;
use eog_core::{Decision, EntityId, EvidenceId, EvidenceKind, Finding, Label, Timestamp};

use super::answer::{claim, decide, quote, rate};
use super::demand;
use super::facts::{Facts, begins_after};
use crate::effect_map::ABOUT_AS_NEAR;
use crate::signs::is_executed_experiment;

/// At most this many own changes are cited.
const MAX_CHANGES: usize = 3;

/// Longest quotation of what a change explains, in characters: it names the whole path.
const MAX_IMPACT: usize = 400;

/// **Own change.** A change of the entity that precedes what it explains makes it the origin.
///
/// What it explains is, strongest first: an anomaly that it precedes and reaches (an impact note);
/// a neighbour that names the entity as its cause; harm to the entity that begins after it.
///
/// A change of demand needs traffic of the entity that rises with it or later. A fault experiment
/// that is only defined needs an event that says it ran. A restart is an effect (paper B.6, "what
/// changed").
pub(super) fn own_change(facts: &Facts<'_>) -> Option<Decision> {
    let backed: Vec<Backed<'_>> =
        facts.changes.iter().filter_map(|change| Backed::by(change, facts)).collect();
    let best = backed.iter().min_by_key(|backed| backed.rank())?;
    let change = best.change;

    let others =
        backed.iter().map(|backed| backed.change).filter(|other| other.id() != change.id());
    let changes = std::iter::once(change).chain(others).take(MAX_CHANGES);
    let cited = changes.chain(best.impacts.iter().copied()).chain(best.witness);
    let summary = format!("own change: {}; {}", quote(change), best.explains(facts));
    let mut decision = decide(Label::Origin, &summary, cited);
    rate(&mut decision, facts.entity, best.score());

    let next = best.impacts.iter().find_map(|impact| Some((*impact, impact.peer.as_ref()?)));
    if let Some((impact, peer)) = next {
        let ids = [change.id(), impact.id()];
        decision = decision.claiming(claim(
            (facts.entity, &peer.entity),
            quote(change),
            crate::text::shorten(&impact.excerpt, MAX_IMPACT),
            ids,
        ));
    } else if let Some((_, accused)) = facts.accusations.first() {
        let ids = std::iter::once(change.id()).chain(&accused.evidence);
        let observed = accused.observed.clone();
        decision =
            decision.claiming(claim((facts.entity, &accused.effect), quote(change), observed, ids));
    }
    if change.signal == Signal::Demand {
        decision = demand::claim_exhausted_callees(decision, facts);
    }
    Some(decision)
}

/// A change together with what it explains.
struct Backed<'a> {
    change: &'a Finding,
    /// Anomalies that follow and are reached.
    impacts: Vec<&'a Finding>,
    accused: bool,
    /// The first own harm that follows.
    harm: Option<&'a Finding>,
    /// What shows that the change took effect, where that is not certain from the change alone.
    witness: Option<&'a Finding>,
}

impl<'a> Backed<'a> {
    fn by(change: &'a Finding, facts: &Facts<'a>) -> Option<Self> {
        let at = change.time.start();
        let witness = match change.signal {
            Signal::Demand => Some(*facts.surges.iter().find(|surge| surge.time.start() >= at)?),
            Signal::Experiment => {
                let ran = |f: &&Finding| is_executed_experiment(f) && f.time.start() >= at;
                Some(facts.findings().iter().find(ran)?)
            }
            _ => None,
        };
        let follows =
            |impact: &&&Finding| impact.change == change.change && begins_after(impact, at);
        let impacts: Vec<&Finding> = facts.impacts.iter().filter(follows).copied().collect();
        // A change elsewhere that reached here and that an anomaly followed passes through here.
        let accused = facts.routes.is_empty() && !facts.accusations.is_empty();
        let harm = if impacts.is_empty() { harm_of(at, facts) } else { facts.first_harm_after(at) };
        let backed = !impacts.is_empty() || accused || harm.is_some();
        backed.then_some(Self { change, impacts, accused, harm, witness })
    }

    /// Best first: an impact, the latest change (nearest before what follows), then by id.
    fn rank(&self) -> (bool, std::cmp::Reverse<Timestamp>, &EvidenceId) {
        let at = std::cmp::Reverse(self.change.time.start());
        (self.impacts.is_empty(), at, self.change.id())
    }

    fn score(&self) -> u16 {
        if !self.impacts.is_empty() {
            900
        } else if self.accused {
            800
        } else {
            700
        }
    }

    fn explains(&self, facts: &Facts<'_>) -> String {
        if let Some(impact) = self.impacts.first() {
            return crate::text::shorten(&impact.excerpt, MAX_IMPACT);
        }
        if let Some((sender, _)) = facts.accusations.first() {
            return format!("{sender} names it as its cause");
        }
        self.harm.map_or_else(String::new, |harm| format!("harm follows: {}", quote(harm)))
    }
}

/// The first harm that an own change at `at` explains although no alert that it reaches follows.
///
/// With a change elsewhere that has a path here, only where the own change lies nearer before all
/// harm: not in trouble that was there already, and not much farther away.
fn harm_of<'a>(at: Timestamp, facts: &Facts<'a>) -> Option<&'a Finding> {
    let after = facts.first_harm_after(at)?;
    let elsewhere = || facts.routes.iter().map(|route| route.time.start());
    let in_trouble = facts.harms.iter().any(|harm| harm.time.start() <= at);
    let nearer = |time: Timestamp| time.duration_since(at) > ABOUT_AS_NEAR;
    let passes_through = elsewhere().any(|time| in_trouble && time <= at || nearer(time));
    (!passes_through).then_some(after)
}

/// **Own failure.** The entity ran out of a resource, crashed, or was made to fail, no more
/// traffic is known to have come before, and nothing upstream explains it: an origin that cites no
/// change, so never a confirmed one. An alert alone does not make one.
///
/// A change elsewhere with a path here that precedes the failure explains it. A mere crash is also
/// explained by a degraded upstream neighbour; exhaustion is not, it is the entity's own.
pub(super) fn own_failure(facts: &Facts<'_>) -> Option<Decision> {
    let first = *facts.failures.first().filter(|_| fails_by_itself(facts))?;
    let summary = format!(
        "own failure: {}; no change of {} is on record, no more traffic is known to have come \
         before, and nothing upstream explains it",
        quote(first),
        facts.entity
    );
    let mut decision = decide(Label::Origin, &summary, facts.failures.iter().take(3).copied());
    rate(&mut decision, facts.entity, 500);
    for caller in wrongly_claiming_callers(facts) {
        let observed = format!("{caller} takes it for the effect of its load");
        let ids = facts.failures.iter().take(3).map(|failure| failure.id());
        decision = decision.claiming(claim((facts.entity, caller), quote(first), observed, ids));
    }
    Some(decision)
}

/// Whether the entity failed, and nothing that is known here explains it.
fn fails_by_itself(facts: &Facts<'_>) -> bool {
    let Some(since) = facts.failures.iter().map(|failure| failure.time.start()).min() else {
        return false;
    };
    let explained_by_change = facts.routes.iter().any(|route| route.time.start() < since);
    let own = |failure: &&Finding| failure.signal != Signal::Availability;
    let explained_by_neighbour =
        !facts.failures.iter().any(own) && !facts.degraded_upstream().is_empty();
    // An alert says that something is wrong; that it is this needs another sign.
    let is_seen = facts.harms.iter().any(|harm| harm.kind != EvidenceKind::Alert);
    is_seen && facts.early_surges().is_empty() && !explained_by_change && !explained_by_neighbour
}

/// **Failure of a part.** As *own failure*, but what failed first, and alone, is one part of the
/// entity, such as a pod of a workload: the part explains the whole. Where several parts failed,
/// the whole does.
pub(super) fn failure_of_a_part(facts: &Facts<'_>) -> Option<Decision> {
    if !fails_by_itself(facts) {
        return None;
    }
    let first = *facts.failures.iter().min_by_key(|failure| failure.time.start())?;
    let is_part = |failure: &&&Finding| failure.entity != *facts.entity;
    let mut parts = facts.failures.iter().filter(is_part).map(|failure| &failure.entity);
    let part = Some(&first.entity).filter(|part| *part != facts.entity)?;
    if parts.any(|other| other != part) {
        return None;
    }
    let summary = format!("failure of a part: {}; {part} failed first, and alone", quote(first));
    let of_part = facts.failures.iter().filter(is_part).take(3).copied();
    let mut decision = decide(Label::Symptom, &summary, of_part).claiming(claim(
        (part, facts.entity),
        quote(first),
        quote(first),
        [first.id()],
    ));
    rate(&mut decision, part, 500);
    rate(&mut decision, facts.entity, 200);
    Some(decision)
}

/// Callers that hold their load for the cause of the failure, although no more load came.
fn wrongly_claiming_callers<'a>(facts: &Facts<'a>) -> Vec<&'a EntityId> {
    let senders = facts.packet.inbox.iter().map(|message| &message.sender);
    senders.filter(|sender| facts.says(sender, sender, facts.entity)).take(3).collect()
}
