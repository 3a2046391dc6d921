//! Faults off, while everything goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Turns off the faults of all wrappers that share it, at any time. On at first. Clones are
/// the same switch.
///
/// ```
/// use eog_testkit::sim::FaultSwitch;
/// let faults = FaultSwitch::default();
/// faults.clone().turn_off();
/// assert!(!faults.is_on());
/// ```
#[derive(Clone, Debug)]
pub struct FaultSwitch(Arc<AtomicBool>);

impl Default for FaultSwitch {
    fn default() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

impl FaultSwitch {
    /// From now on, nothing goes wrong. Calls that hang already keep hanging.
    pub fn turn_off(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Whether calls go wrong.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
