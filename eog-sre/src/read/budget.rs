//! How much of the memory that may be used is used, counted while files are read.
//!
//! The estimate before the reading goes by what recordings usually hold. One that holds more (each
//! line another text, each row another series) is found out here, before the memory is used up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::stop::Stop;

/// After how many bytes a reader reports what it keeps.
const STEP: u64 = 64 * 1024;

/// The bytes that all readers together may keep. Copies count as one.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    allowed: u64,
    used: Arc<AtomicU64>,
    stop: Option<Stop>,
    /// Whether it was ended: it stays so, whatever is said later.
    stopped: Arc<AtomicBool>,
}

impl Budget {
    /// A budget of so many bytes.
    pub(crate) fn new(allowed: u64) -> Self {
        Self { allowed, used: Arc::default(), stop: None, stopped: Arc::default() }
    }

    /// The same, ended by a [`Stop`].
    pub(crate) fn with_stop(self, stop: Option<Stop>) -> Self {
        Self { stop, ..self }
    }

    /// Whether reading was cancelled.
    pub(crate) fn is_stopped(&self) -> bool {
        let is_wanted = self.stop.as_ref().is_some_and(Stop::is_wanted);
        self.stopped.fetch_or(is_wanted, Ordering::Relaxed) || is_wanted
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
        Account { budget: self.clone(), reported: 0 }
    }
}

/// What one reader keeps.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Budget,
    reported: u64,
}

impl Account {
    /// Reports how many bytes the reader keeps by now. False when all readers together keep too
    /// much, or reading is cancelled: then reading should end.
    pub(crate) fn holds(&mut self, kept: usize) -> bool {
        let kept = kept as u64;
        // News in steps, but no step is larger than what may be used.
        if kept.saturating_sub(self.reported) < STEP.min(self.budget.allowed) {
            return true;
        }
        self.budget.used.fetch_add(kept - self.reported, Ordering::Relaxed);
        self.reported = kept;
        !self.budget.is_spent() && !self.budget.is_stopped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cancelled_ends_at_the_next_step_and_stays_so() {
        let asked = Arc::new(AtomicU64::new(0));
        let times = Arc::clone(&asked);
        // Only the second time that it is asked.
        let stop = Stop::when(move || times.fetch_add(1, Ordering::Relaxed) == 1);
        let budget = Budget::new(u64::MAX).with_stop(Some(stop));
        let mut account = budget.account();
        assert!(account.holds(10), "not asked for so little");
        assert!(account.holds(100_000));
        assert!(!account.holds(200_000));
        assert!(budget.is_stopped() && !budget.is_spent());
    }

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
