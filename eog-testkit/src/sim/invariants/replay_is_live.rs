//! A controller that is restored from a ledger is the one that wrote it.

use std::collections::BTreeSet;

use eog::{Controller, Input, Spent, Usage};

use super::{Checked, Finding};
use crate::sim::simulation::history::{End, History};

/// The ledger is derived again, entry by entry; then
/// ledger, beliefs, claims, queue, inboxes, conclusion and what was spent, but for what stands
/// beside the chain. What is under way is discarded on both sides first: a restore asks for it
/// again.
pub(super) fn check(history: &History) -> Checked {
    for life in history.lives() {
        for (number, process) in life.processes.iter().enumerate() {
            let Some((controller, stop)) = process.finished() else { continue };
            let differs = |what: &str, live: &dyn std::fmt::Debug, replay: &dyn std::fmt::Debug| {
                let expected = format!("the same {what} as after {stop:?}: {live:?}");
                Err(Finding::in_process(life, number, expected, format!("{replay:?}")))
            };
            let mut replay = match Controller::restore(controller.ledger()) {
                Ok(replay) => replay,
                Err(error) => return differs("ledger", &"accepted", &error.to_string()),
            };
            if matches!(process.end, End::Finished { journal_failed: true, .. }) {
                // It was left in the middle, with what only the process knew.
                continue;
            }
            let mut live = controller.clone();
            for side in [&mut live, &mut replay] {
                if let Err(error) = side.handle(Input::Cancel) {
                    return differs("state", &"cancelled", &error.to_string());
                }
            }
            if live.ledger() != replay.ledger() {
                return differs("ledger", &last(&live), &last(&replay));
            }
            let (one, other) = (live.conclusion(), replay.conclusion());
            if one != other {
                return differs("conclusion", &one, &other);
            }
            if !live.beliefs().eq(replay.beliefs()) {
                return differs("beliefs", &"live", &"others");
            }
            if live.live_claims() != replay.live_claims() {
                return differs("claims", &live.live_claims(), &replay.live_claims());
            }
            let spent = |side: &Controller| Spent { usage: Usage::default(), ..side.spent() };
            if spent(&live) != spent(&replay) {
                return differs("counts", &spent(&live), &spent(&replay));
            }
            if queue(&live) != queue(&replay) {
                return differs("queue", &queue(&live), &queue(&replay));
            }
            for (entity, _) in live.beliefs() {
                if live.inbox(entity) != replay.inbox(entity) {
                    return differs("inboxes", &live.inbox(entity), &replay.inbox(entity));
                }
            }
        }
    }
    Ok(())
}

/// How a ledger ends.
fn last(side: &Controller) -> String {
    let ledger = side.ledger();
    let last = ledger.entries().last().map(|entry| crate::render::render_entry(entry));
    format!("{} entries, the last {}", ledger.next_seq(), last.unwrap_or_default())
}

/// Which entities wait and why. Discarded ones wait at the head, so places show nothing.
fn queue(side: &Controller) -> BTreeSet<String> {
    side.active().map(|(name, why)| format!("{name} {why:?}")).collect()
}
