//! What the bookkeeping says: who accounts for what an entity has too much of.

use eog_core::evidence::Signal;
use eog_core::{EntityId, Finding};

use super::facts::Facts;

/// Whoever accounts for more than is left explains an entity.
const MAJORITY: f64 = 0.5;

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
