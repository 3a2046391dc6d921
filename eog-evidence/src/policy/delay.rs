//! Evidence for a delay between a change and the harm it does.

use eog_core::Finding;
use eog_core::evidence::Signal;
use eog_core::incident::Onset;

use super::facts::Facts;
use super::times::{Delay, surely_before};

/// Why a change long before the harm is doubted.
pub(super) const LONG_BEFORE: &str =
    "the change lies long before the harm, and nothing shows what took so long";

/// Whether something filled up or ran out between a change and the harm: a leak, a queue, a quota or
/// an expiry takes its time.
///
/// What was measured decides: it begins to fill soon after the change, since otherwise nothing shows
/// what took so long until then, and not after the harm that it would lead to. Where no beginning was
/// measured, that something ran out is all that can be asked for.
pub(super) fn shows_a_delay(made: &Onset, facts: &Facts<'_>) -> bool {
    let since = facts.harm_since();
    let in_time = |harm: &&Finding| {
        harm.onset.is_none_or(|onset| !since.is_some_and(|since| surely_before(&since, &onset)))
    };
    let soon = |began: &Onset| !Delay::to(made, Some(*began), began.earliest()).is_long();
    let filling = || {
        let fills =
            |harm: &&&Finding| matches!(harm.signal, Signal::Saturation | Signal::Exhaustion);
        facts.harms.iter().filter(fills).copied()
    };
    if filling().any(|harm| harm.onset.is_some()) {
        return filling().filter(in_time).any(|harm| harm.onset.is_some_and(|began| soon(&began)));
    }
    filling().any(|_| true)
}
