//! Entries on their way out: handed out in order, and acknowledged in order.

use std::sync::Arc;

use crate::ledger::body::Body;
use crate::ledger::{Entry, Ledger};
use crate::machine::exchange::InputError;

/// How far the entries of a machine's ledger were handed out and stored. Every machine keeps one: what
/// follows from an entry waits until it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Emission {
    emitted: u64,
    stored: u64,
}

impl Emission {
    /// The next entry to hand out, if there is one.
    pub fn next<B: Body>(&mut self, ledger: &Ledger<B>) -> Option<Arc<Entry<B>>> {
        let entry = ledger.entry(self.emitted)?;
        self.emitted += 1;
        Some(Arc::clone(entry))
    }

    /// Records that an entry is stored.
    ///
    /// # Errors
    /// [`InputError::NotNext`] for one that was not handed out, or out of order.
    pub fn acknowledge(&mut self, seq: u64) -> Result<(), InputError> {
        if seq != self.stored || seq >= self.emitted {
            return Err(InputError::NotNext { expected: self.stored, given: seq });
        }
        self.stored += 1;
        Ok(())
    }

    /// How many entries are stored.
    pub fn stored(self) -> u64 {
        self.stored
    }

    /// Whether every entry there is was handed out and stored.
    pub fn is_settled<B: Body>(self, ledger: &Ledger<B>) -> bool {
        self.stored == ledger.next_seq()
    }

    /// Every entry there is counts as handed out and stored.
    #[must_use]
    pub fn settled<B: Body>(ledger: &Ledger<B>) -> Self {
        Self { emitted: ledger.next_seq(), stored: ledger.next_seq() }
    }
}
