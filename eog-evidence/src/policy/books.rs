//! What the bookkeeping says: who accounts for what an entity has too much of.

use eog_core::evidence::Signal;
use eog_core::{EntityId, Finding};

use super::facts::{Facts, share_of};
use crate::signs::MAJORITY;

/// Who has less than a tenth of what an alert shows cannot have made it: a level is no shift below a
/// tenth either.
pub(super) const MINOR: f64 = 0.1;

/// At most this many neighbours are claimed together.
const MAX_TOGETHER: usize = 2;

/// At most this many earlier deviations are claimed, where nothing adds up.
const MAX_EARLIER: usize = 3;

/// A score says in this range how much is accounted for.
const SCORES: f64 = 400.0;

/// Those who explain the entity on the account that is explained best.
pub(super) type Explaining<'a> = Vec<(&'a EntityId, f64, &'a Finding)>;

/// The account on which neighbours explain the entity best, and who they are.
pub(super) fn explained<'a>(facts: &Facts<'a>) -> Option<(Signal, Explaining<'a>)> {
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

/// The part of what alerts show that the entity can have made itself: what nobody upstream accounts for,
/// and no more than it has of what alerting entities have. Nothing where no account tells.
///
/// Of several accounts the one that leaves least to the entity counts: whoever waits for a callee that
/// fails runs out of places, and loses more time than the callee does.
///
/// A neighbour that is called more often for each request may have its trouble from here: it accounts
/// for nothing.
pub(super) fn own_part(facts: &Facts<'_>) -> Option<f64> {
    let on_account = facts.shares.iter().chain(&facts.remainders).map(|note| note.signal);
    let left =
        on_account.filter(|signal| *signal != Signal::Other).map(|signal| left(facts, signal));
    let left = left.reduce(f64::min);
    let of_alerts = facts.parts.iter().map(|note| share_of(note)).reduce(f64::max);
    left.into_iter().chain(of_alerts).reduce(f64::min)
}

/// Whether next to nothing of what alerts show can come from the entity.
pub(super) fn is_minor(facts: &Facts<'_>) -> bool {
    !counts_however_small(facts) && own_part(facts).is_some_and(|part| part < MINOR)
}

/// Whether next to nothing of what alerts show can have passed through the entity: it has none of it
/// itself.
pub(super) fn has_no_part<'a>(facts: &Facts<'a>) -> Option<&'a Finding> {
    let greatest = greatest_part(facts).filter(|_| !counts_however_small(facts));
    greatest.filter(|(_, part)| *part < MINOR).map(|(note, _)| note)
}

/// Whether most of what each alert shows cannot have passed through the entity.
pub(super) fn has_lesser_part(facts: &Facts<'_>) -> bool {
    !counts_however_small(facts) && greatest_part(facts).is_some_and(|(_, part)| part < MAJORITY)
}

/// Whether an entity may be the cause however small its part of what alerts show is. What it fails at by itself need not be much; what it
/// does to others need not show on itself: it takes what they need, its answers end their requests, or its calls hold
/// them up; and what a person or an experiment says needs no measure.
fn counts_however_small(facts: &Facts<'_>) -> bool {
    let shows_elsewhere =
        || facts.crowding_out().chain(facts.ends_others()).chain(facts.holds_up()).next().is_some();
    facts.is_stated() || facts.is_injected() || !facts.failures.is_empty() || shows_elsewhere()
}

/// The greatest part of what an alert shows that can have passed through the entity, 0 to 1, with the note that says so.
pub(super) fn greatest_part<'a>(facts: &Facts<'a>) -> Option<(&'a Finding, f64)> {
    // What passes through one of many replicas is little: all of them count.
    let passed = |note: &Finding| {
        let together = note.quantity.as_ref().and_then(|quantity| quantity.baseline);
        share_of(note).max(together.unwrap_or_default())
    };
    let parts = facts.parts.iter().map(|note| (*note, passed(note)));
    parts.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// What nobody upstream accounts for on an account.
fn left(facts: &Facts<'_>, signal: Signal) -> f64 {
    let sharers = facts.sharers(signal).into_iter();
    let explained: f64 =
        sharers.filter(|(peer, _, _)| !facts.is_sent_more(peer)).map(|(_, share, _)| share).sum();
    (1.0 - explained).max(0.0)
}

/// What the entity shows on an account, its own first.
pub(super) fn harms_of<'a>(facts: &Facts<'a>, signal: Signal) -> Vec<&'a Finding> {
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
pub(super) fn score(share: f64) -> u16 {
    500 + (SCORES * share.clamp(0.0, 1.0)) as u16
}
