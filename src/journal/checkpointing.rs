//! When a journal is given a checkpoint, and going on from it. An acceleration only: whatever fails
//! here, the journal alone leads to the same investigation.

use eog_core::ledger::Body;
use eog_core::{Ledger, Machine};

use super::checkpoint::Beside;
use super::{Checkpoints, DiskFile, Journal, JournalError, Recovered};

/// Deriving fewer entries again takes less than a fetch.
const USUAL_INTERVAL: u64 = 1_000;

/// When a journal is given its checkpoints, and where.
#[derive(Debug)]
pub(super) struct Pace {
    /// At least so many entries lie between two.
    interval: u64,
    /// Entries before the last one.
    last: u64,
    place: Box<dyn Checkpoints>,
}

impl Journal {
    /// Sets how many entries there are at least from one checkpoint to the next: 1,000 unless said
    /// otherwise, and never less than a quarter of all entries, so that writing them stays cheap.
    ///
    /// An [`Engine`](crate::Engine) writes them beside a journal in a file, and where
    /// [`Journal::with_checkpoints`] says, for [`Engine::resume`](crate::Engine::resume) to go on faster.
    /// On another medium there are none.
    #[must_use]
    pub fn checkpoint_every(mut self, entries: u64) -> Self {
        if let Some(pace) = &mut self.pace {
            pace.interval = entries.max(1);
        }
        self
    }

    pub(super) fn on_disk<B: Body>(file: DiskFile) -> Result<(Self, Recovered<B>), JournalError> {
        let (journal, recovered) = Self::on(file)?;
        Ok((journal.with_checkpoints_beside(), recovered))
    }

    pub(super) fn with_checkpoints_beside(self) -> Self {
        let place = Beside(self.path().to_owned());
        self.with_checkpoints(place)
    }

    /// Keeps checkpoints in this place. For a medium of one's own: a journal in a file has one.
    #[must_use]
    pub fn with_checkpoints(mut self, place: impl Checkpoints + 'static) -> Self {
        self.pace = Some(Pace { interval: USUAL_INTERVAL, last: 0, place: Box::new(place) });
        self
    }

    /// Writes a checkpoint if it is time and all that it stands for is acknowledged.
    pub(crate) fn keep_up<M: Machine>(&mut self, machine: &M) {
        let Some(pace) = &mut self.pace else { return };
        let tail = self.entries.saturating_sub(pace.last);
        if tail < pace.interval.max(self.entries / 4) || machine.ledger().head() != self.head {
            return;
        }
        let Some(checkpoint) = machine.to_checkpoint() else { return };
        // Also if it cannot be written: what fails now would fail after every entry.
        pace.last = self.entries;
        let _ = pace.place.write(&checkpoint);
    }

    /// The machine that a ledger leads to, by way of the checkpoint. None if there is none, or
    /// anything about it is wrong.
    pub(crate) fn restore<M: Machine>(&mut self, ledger: &Ledger<M::Body>) -> Option<M> {
        let bytes = self.pace.as_ref()?.place.read()?;
        let (machine, entries) = M::restore_from(&bytes, ledger)?;
        if let Some(pace) = &mut self.pace {
            pace.last = entries;
        }
        Some(machine)
    }
}
