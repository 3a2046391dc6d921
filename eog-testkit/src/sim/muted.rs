//! Panics that are part of a simulation.

use std::panic::PanicHookInfo;
use std::sync::Once;

/// What every drawn panic says.
pub(super) const PANICS: &str = "panics as the seed says";

/// Keeps the panics that [`Unreliable`](super::Unreliable) draws from being printed, for the rest
/// of the process. They are caught by the engine, and printing each with its backtrace takes longer
/// than the simulation. All other panics are printed as before.
pub fn mute_drawn_panics() {
    static MUTED: Once = Once::new();
    MUTED.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !is_drawn(panic) {
                usual(panic);
            }
        }));
    });
}

fn is_drawn(panic: &PanicHookInfo<'_>) -> bool {
    panic.payload().downcast_ref::<String>().is_some_and(|said| said.contains(PANICS))
}
