//! Rings around what is unexplained: the distance of each entity over the adjacency.

use std::collections::BTreeSet;

use crate::ids::EntityId;
use crate::state::State;

/// A search that has come so far. It goes on where it stopped: one from the start for each ring
/// would be quadratic.
#[derive(Clone, Debug)]
pub(super) struct Rings {
    centre: BTreeSet<EntityId>,
    reached: BTreeSet<EntityId>,
    distance: u32,
    ring: BTreeSet<EntityId>,
}

impl Rings {
    pub(super) fn around(centre: BTreeSet<EntityId>) -> Self {
        Self { reached: centre.clone(), ring: centre.clone(), distance: 0, centre }
    }

    pub(super) fn is_around(&self, centre: &BTreeSet<EntityId>) -> bool {
        self.centre == *centre
    }

    /// The wanted entities on the nearest ring that has any, by name; empty if there is none within
    /// the radius. An entity that is no longer wanted never is again.
    pub(super) fn nearest(
        &mut self,
        state: &State,
        radius: Option<u32>,
        is_wanted: impl Fn(&EntityId) -> bool,
    ) -> Vec<EntityId> {
        loop {
            let wanted: Vec<EntityId> =
                self.ring.iter().filter(|entity| is_wanted(entity)).cloned().collect();
            let is_outermost = radius.is_some_and(|radius| self.distance >= radius);
            if !wanted.is_empty() || is_outermost || self.ring.is_empty() {
                return wanted;
            }
            let next = self.ring.iter().flat_map(|entity| state.adjacent(entity));
            let next: BTreeSet<EntityId> =
                next.filter(|entity| !self.reached.contains(entity)).collect();
            self.reached.extend(next.iter().cloned());
            self.ring = next;
            self.distance += 1;
        }
    }
}
