//! Rules by bookkeeping: what an entity has too much of lies with whoever accounts for it.

use eog_core::evidence::Signal;
use eog_core::incident::Direction;
use eog_core::{Decision, EntityId, Finding, Label};

use super::answer::{claim, decide, propose, quote, rate};
use super::demand;
use super::facts::{Facts, share_of};

/// Whoever accounts for more than is left explains an entity.
const MAJORITY: f64 = 0.5;

/// At most this many neighbours are claimed together.
const MAX_TOGETHER: usize = 2;

/// At most this many earlier deviations are claimed, where nothing adds up.
const MAX_EARLIER: usize = 3;

/// A score says in this range how much is accounted for.
const SCORES: f64 = 400.0;

/// **Accounted for upstream.** Upstream neighbours account for at least half of what the entity
/// has too much of: they explain it. The smallest set that does so is claimed, those that account
/// for most first.
///
/// Where nothing adds up, every neighbour that deviated no later is claimed.
///
/// A resource that ran out and an experiment that ran are the entity's own and left to the next
/// rule.
pub(super) fn accounted_for_upstream(facts: &Facts<'_>) -> Option<Decision> {
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
    Some(demand::claim_exhausted_callees(decision, facts))
}

/// **Accounted for by nobody.** What the entity has too much of stands out, all its upstream
/// neighbours are known, and they do not account for most of it: it is its own, and an origin that
/// cites no change. Neighbours that account for a part are proposed: they may be further origins.
pub(super) fn accounted_for_by_nobody(facts: &Facts<'_>) -> Option<Decision> {
    let rest = *facts.remainders.first()?;
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
    Some(propose(decision, sharers.iter().map(|(peer, _, _)| *peer), Direction::Upstream, &reason))
}

/// Those who explain the entity on the account that is explained best.
type Explaining<'a> = Vec<(&'a EntityId, f64, &'a Finding)>;

fn explained<'a>(facts: &Facts<'a>) -> Option<(Signal, Explaining<'a>)> {
    let mut signals: Vec<Signal> = facts.shares.iter().map(|note| note.signal).collect();
    signals.sort_unstable();
    signals.dedup();
    let explained = signals.into_iter().filter_map(|signal| {
        let mut sharers = facts.sharers(signal);
        if signal == Signal::Other {
            sharers.truncate(MAX_EARLIER);
            return Some((1.0, signal, sharers)).filter(|(_, _, sharers)| !sharers.is_empty());
        }
        let mut sum = 0.0;
        let enough = sharers.iter().take(MAX_TOGETHER).position(|(_, share, _)| {
            sum += share;
            sum >= MAJORITY
        })?;
        sharers.truncate(enough + 1);
        Some((sum, signal, sharers))
    });
    // `max_by` keeps the last of equals; the first is wanted.
    let best =
        explained.collect::<Vec<_>>().into_iter().rev().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((best.1, best.2))
}

/// What the entity shows on an account, its own first.
fn harms_of<'a>(facts: &Facts<'a>, signal: Signal) -> Vec<&'a Finding> {
    let shown = facts.findings().iter().filter(|finding| {
        let note = finding.kind == eog_core::EvidenceKind::Note;
        !note && finding.signal == signal && finding.trend == eog_core::evidence::Trend::Rising
    });
    let mut shown: Vec<&Finding> = shown.collect();
    if shown.is_empty() {
        shown.extend(facts.harms.first());
    }
    shown.truncate(3);
    shown
}

/// 500 to 900: how much an entity accounts for.
fn score(share: f64) -> u16 {
    500 + (SCORES * share.clamp(0.0, 1.0)) as u16
}
