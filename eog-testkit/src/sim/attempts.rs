//! How often each question was asked.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use eog::Digest;

use super::switch::FaultSwitch;
use crate::random::{RandomSeed, Stream};

/// How often each question was asked, by the digest of the packet or the request.
pub type Calls = BTreeMap<Digest, u64>;

/// Counts the attempts at each question, and draws what strikes each.
#[derive(Debug)]
pub(super) struct Attempts {
    seed: RandomSeed,
    pub(super) faults: FaultSwitch,
    calls: Mutex<Calls>,
    pub(super) alike: bool,
}

impl Attempts {
    pub(super) fn new(seed: RandomSeed) -> Self {
        Self { seed, faults: FaultSwitch::default(), calls: Mutex::default(), alike: false }
    }

    /// Goes on counting from earlier calls.
    pub(super) fn follow(&mut self, calls: Calls) {
        self.calls = Mutex::new(calls);
    }

    /// Counts this attempt, and draws what strikes it: with the number of the attempt, from 1, and the stream to go
    /// on drawing from.
    pub(super) fn strike<T: Copy>(
        &self,
        purpose: &str,
        question: &Digest,
        shares: &[(f64, T)],
    ) -> Option<(T, u64, Stream)> {
        let attempt = self.count(*question);
        if !self.faults.is_on() {
            return None;
        }
        let mut draw = self.seed.about(purpose, question, attempt);
        Some((draw.kind(shares)?, attempt, draw))
    }

    fn count(&self, question: Digest) -> u64 {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(question).or_default();
        *count += 1;
        if self.alike { 1 } else { *count }
    }

    pub(super) fn calls(&self) -> Calls {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What wrappers that count attempts have in common.
macro_rules! counts_attempts {
    ($wrapper:ident $(<$inner:ident>)?) => {
        impl$(<$inner>)? $wrapper$(<$inner>)? {
            /// Obeys a switch that others share.
            #[must_use]
            pub fn with_switch(mut self, faults: FaultSwitch) -> Self {
                self.attempts.faults = faults;
                self
            }

            /// Counts attempts on from earlier calls: what an interrupted run had asked.
            #[must_use]
            pub fn after(mut self, calls: Calls) -> Self {
                self.attempts.follow(calls);
                self
            }

            /// Equal questions are answered equally: every attempt fares as the first one. Wherever it is
            /// left open how often a question is asked, as in speculation, equal ledgers need this.
            #[must_use]
            pub fn steady(mut self) -> Self {
                self.attempts.alike = true;
                self
            }

            /// The switch of its faults.
            pub fn faults(&self) -> &FaultSwitch {
                &self.attempts.faults
            }

            /// How often each question was asked, by its digest. Those with the faults off count.
            pub fn calls(&self) -> Calls {
                self.attempts.calls()
            }
        }
    };
}
pub(super) use counts_attempts;

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
