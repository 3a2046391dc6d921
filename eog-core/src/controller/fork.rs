//! Forks: another course from an entry on.

use std::sync::Arc;

use super::Controller;
use crate::controller::entry_body::EntryBody;
use crate::ledger::Ledger;
use crate::ledger::record::{ForkChanges, Forked};
use crate::ledger::replay::fork;
use crate::ledger::restore_error::ForkError;

impl Controller {
    /// A new investigation that shares the first entries of another, entry `at` included, and takes
    /// its own course from there. What the other had under way at that entry is dropped.
    ///
    /// The new ledger begins with copies of the shared entries, followed by
    /// [`EntryBody::Forked`]; all of them are handed out to be stored.
    ///
    /// # Errors
    /// [`ForkError`] when there is no such entry, or when what is before it does not follow by
    /// the rules of this program.
    ///
    /// ```
    /// use eog_core::{Budget, Case, Config, Controller, EntityId, Seed, Topology, Window};
    /// use eog_core::ledger::ForkChanges;
    /// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
    /// # let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
    /// # case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "alert".into() });
    /// let parent = Controller::new(Config::default(), case);
    /// let config = Config { budget: Budget::hops(10), ..Config::default() };
    /// let changes = ForkChanges { config: Some(config), ..ForkChanges::default() };
    /// let fork = Controller::fork(parent.ledger(), 0, changes)?;
    /// assert_eq!(fork.ledger().entries().len(), 2);
    /// assert_eq!(fork.config().budget, Budget::hops(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fork(parent: &Ledger, at: u64, changes: ForkChanges) -> Result<Self, ForkError> {
        fork(parent, at, changes)
    }

    /// Drops what is under way and goes on with what the fork changes.
    pub(super) fn take_course(&mut self, forked: Forked) {
        self.discard_in_flight();
        self.halt = super::Halt::default();
        if let Some(config) = &forked.changes.config {
            if config.widening != self.config.widening {
                self.withdraw_widening();
            }
            self.config = config.clone();
            self.outlook = None;
            self.rings = None;
        }
        if forked.changes.policy.is_some() {
            self.memory.clear();
        }
        if let Some(case_file) = &forked.changes.case_file {
            self.state.show(Arc::clone(case_file));
        }
        self.ledger.append(EntryBody::Forked(Box::new(forked)));
    }
}
