//! How much of the memory that may be used is used, counted while files are read.
//!
//! The estimate before the reading goes by what recordings usually hold. One that holds more (each
//! line another text, each row another series) is found out here, before the memory is used up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// After how many bytes a reader tells what it keeps.
const STEP: u64 = 64 * 1024;

/// The bytes that all readers together may keep. Copies count as one.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    allowed: u64,
    used: Arc<AtomicU64>,
}

impl Budget {
    /// A budget of so many bytes.
    pub(crate) fn new(allowed: u64) -> Self {
        Self { allowed, used: Arc::default() }
    }

    /// The bytes that may be used.
    pub(crate) fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Whether more is used than may be.
    pub(crate) fn is_spent(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.allowed
    }

    /// The account of one reader.
    pub(crate) fn account(&self) -> Account {
        Account { budget: self.clone(), told: 0 }
    }
}

/// What one reader keeps.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Budget,
    told: u64,
}

impl Account {
    /// Tells how many bytes the reader keeps by now. False when all readers together keep too
    /// much: then reading should end.
    pub(crate) fn holds(&mut self, kept: usize) -> bool {
        let kept = kept as u64;
        // News in steps, but no step is larger than what may be used.
        if kept.saturating_sub(self.told) < STEP.min(self.budget.allowed) {
            return true;
        }
        self.budget.used.fetch_add(kept - self.told, Ordering::Relaxed);
        self.told = kept;
        !self.budget.is_spent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_accounts_together_may_keep_so_much() {
        let budget = Budget::new(1_000_000);
        let (mut one, mut other) = (budget.account(), budget.account());
        assert!(one.holds(600_000) && one.holds(600_000) && other.holds(400_000));
        assert!(!budget.is_spent());
        assert!(!other.holds(400_000 + 70_000));
        assert!(budget.is_spent() && !one.holds(700_000));
    }
}
