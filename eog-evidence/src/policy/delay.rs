//! Evidence for a delay between a change and the harm it does.

use eog_core::evidence::Signal;

use super::facts::Facts;
use super::times::surely_before;

/// Why a change long before the harm is doubted.
pub(super) const LONG_BEFORE: &str =
    "the change lies long before the harm, and nothing shows what took so long";

/// Whether something filled up or ran out: a leak, a queue, a quota or an expiry takes its time. It
/// counts when it does not begin after the harm it would lead to.
pub(super) fn shows_a_delay(facts: &Facts<'_>) -> bool {
    let since = facts.harm_since();
    facts.harms.iter().any(|harm| {
        let fills = matches!(harm.signal, Signal::Saturation | Signal::Exhaustion);
        let late = matches!((since, harm.onset),
            (Some(since), Some(onset)) if surely_before(&since, &onset));
        fills && !late
    })
}
