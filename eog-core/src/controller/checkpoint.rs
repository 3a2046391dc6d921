//! Checkpoints: the state of a controller at an entry, so that restoring it need not derive all
//! entries before. An acceleration only: the ledger alone leads to the same controller.

mod prefix;
mod rebuild;
mod stored;

use serde::{Deserialize, Serialize};

use super::Controller;
use crate::digest::Digest;
use crate::ledger::Ledger;
use crate::ledger::restore_error::RestoreError;
use stored::StoredState;

/// The version of the checkpoint's format.
pub(super) const CHECKPOINT_FORMAT: u32 = 2;

/// What a controller knew after an entry of its ledger. Opaque; goes through serde.
///
/// It refers to the ledger for texts, evidence and decisions, and leads back to a controller only
/// together with it: [`Controller::restore_from`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    format: u32,
    entries: u64,
    head: Digest,
    /// The digest of everything else.
    digest: Digest,
    state: StoredState,
}

impl Checkpoint {
    /// How many entries of the ledger it stands for.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The hash of the last of these entries.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Whether it was taken of this ledger and is unchanged.
    fn check(&self, ledger: &Ledger) -> Result<(), RestoreError> {
        if self.format != CHECKPOINT_FORMAT {
            return Err(RestoreError::UnknownCheckpoint {
                found: self.format,
                reads: CHECKPOINT_FORMAT,
            });
        }
        let place = self.entries.checked_sub(1).and_then(|last| usize::try_from(last).ok());
        let last = place.and_then(|last| ledger.entries().get(last));
        if last.is_none_or(|last| last.hash != self.head) {
            let (entries, expected) = (self.entries, self.head);
            let found = last.map_or("no entry".to_owned(), |last| format!("hash {}", last.hash));
            return Err(RestoreError::OtherLedger { entries, expected, found });
        }
        let digest = digest_of(self.entries, self.head, &self.state);
        if digest != self.digest {
            let reason = format!("its digest is {digest}, but it bears {}", self.digest);
            return Err(RestoreError::DamagedCheckpoint { reason });
        }
        Ok(())
    }
}

fn digest_of(entries: u64, head: Digest, state: &StoredState) -> Digest {
    Digest::of(&(CHECKPOINT_FORMAT, entries, head, state))
}

impl Controller {
    /// The state after the last entry, for [`Controller::restore_from`]. Answers that are not
    /// committed yet, halts that the ledger does not record, and what was used beside the chain are
    /// not part of it, as if restored from the ledger. Linear in the entities and messages held.
    ///
    /// None after a cancellation that the ledger does not record yet: what was under way then is
    /// known to the ledger alone.
    ///
    /// ```
    /// use eog_core::{Case, Config, Controller, EntityId, Seed, Topology, Window};
    /// use eog_core::controller::Checkpoint;
    /// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
    /// # let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
    /// # case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "alert".into() });
    /// let controller = Controller::new(Config::default(), case);
    /// let stored = serde_json::to_string(&controller.checkpoint())?;
    ///
    /// let checkpoint: Checkpoint = serde_json::from_str(&stored)?;
    /// assert_eq!(checkpoint.entries(), 1);
    /// let restored = Controller::restore_from(&checkpoint, controller.ledger())?;
    /// assert_eq!(restored.checkpoint(), controller.checkpoint());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        if self.halt.is_beyond_the_chain() {
            return None;
        }
        let (entries, head) = (self.ledger.next_seq(), self.ledger.head());
        let state = StoredState::of(self);
        let digest = digest_of(entries, head, &state);
        Some(Checkpoint { format: CHECKPOINT_FORMAT, entries, head, digest, state })
    }

    /// Rebuilds the controller that wrote a ledger, as [`Controller::restore`] does, but derives
    /// only the entries after a checkpoint. Those before are trusted to be what follows.
    ///
    /// # Errors
    /// [`RestoreError`] when the checkpoint is not of this ledger, of another format or damaged, or
    /// when an entry after it does not follow. In each case, [`Controller::restore`] may do
    /// without it.
    pub fn restore_from(checkpoint: &Checkpoint, ledger: &Ledger) -> Result<Self, RestoreError> {
        checkpoint.check(ledger)?;
        rebuild::rebuild(&checkpoint.state, checkpoint.entries, ledger)
    }
}
