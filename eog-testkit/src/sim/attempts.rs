//! How often each question was asked.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use eog::Digest;

/// How often each question was asked, by the digest of the packet or the request.
pub type Calls = BTreeMap<Digest, u64>;

/// Counts the attempts at each question.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    calls: Mutex<Calls>,
    alike: bool,
}

impl Attempts {
    /// Goes on counting from earlier calls.
    pub(super) fn follow(&mut self, calls: Calls) {
        self.calls = Mutex::new(calls);
    }

    /// Every attempt is taken for the first.
    pub(super) fn make_alike(&mut self) {
        self.alike = true;
    }

    /// Counts this attempt and gives its number, from 1.
    pub(super) fn count(&self, question: Digest) -> u64 {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(question).or_default();
        *count += 1;
        if self.alike { 1 } else { *count }
    }

    pub(super) fn calls(&self) -> Calls {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Panics when shares are not numbers from 0 to 1 that add up to at most 1.
#[track_caller]
pub(super) fn check_shares<'a>(shares: impl IntoIterator<Item = (&'a str, f64)>) {
    let mut sum = 0.0;
    for (name, share) in shares {
        assert!((0.0..=1.0).contains(&share), "the share of {name} is {share}, not 0 to 1");
        sum += share;
    }
    // Sums of shares such as 0.1 are not exact.
    assert!(sum <= 1.0 + 1e-9, "the shares of what goes wrong add up to {sum}, more than 1");
}
