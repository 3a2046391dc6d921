//! Planted defects, to prove that the fault simulator finds such. Compiled in by the feature
//! `planted-faults` alone, and inactive even then until a test plants one on its own thread.

use std::cell::Cell;
use std::collections::VecDeque;

use crate::belief::{Belief, Label};
use crate::controller::Slot;

thread_local! {
    static PLANTED: Cell<Option<PlantedFault>> = const { Cell::new(None) };
}

/// A defect that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedFault {
    /// Supersession: an entity that turns `Healthy` keeps its earlier claims.
    KeepsClaims,
    /// Commit order: an answered evaluation overtakes those that were dispatched before it.
    Overtakes,
    /// Durability: the effects of entries are released before these are stored.
    StoresLate,
}

/// The thread has the defect until this is dropped.
#[derive(Debug)]
#[must_use = "the defect is gone when this is dropped"]
pub struct Planted(());

/// Plants a defect on this thread.
pub fn plant(fault: PlantedFault) -> Planted {
    PLANTED.set(Some(fault));
    Planted(())
}

/// Whether this defect is planted on this thread.
pub fn is_planted(fault: PlantedFault) -> bool {
    PLANTED.get() == Some(fault)
}

impl Drop for Planted {
    fn drop(&mut self) {
        PLANTED.set(None);
    }
}

pub(crate) fn keep_claims(before: Option<&Belief>, belief: &mut Belief) {
    if is_planted(PlantedFault::KeepsClaims) && belief.label == Label::Healthy {
        belief.claims.extend(before.into_iter().flat_map(|before| before.claims.clone()));
    }
}

pub(crate) fn overtake(in_flight: &mut VecDeque<Slot>) {
    if is_planted(PlantedFault::Overtakes)
        && let Some(answered) = in_flight.iter().position(Slot::is_answered)
        && let Some(slot) = in_flight.remove(answered)
    {
        in_flight.push_front(slot);
    }
}
