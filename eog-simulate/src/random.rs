//! Randomness from one seed, in streams by purpose.

use std::fmt;

use eog_core::Digest;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// The one number that everything random is derived from.
///
/// Each purpose has a stream of its own, so that one more draw for one purpose shifts no other.
/// Streams are ChaCha8, keyed by BLAKE3 over seed and purpose; the draws are made by the fixed
/// rules of [`Stream`]. Equal seeds therefore give equal draws on any machine and with any later
/// version of the libraries.
///
/// ```
/// use eog_simulate::RandomSeed;
/// let seed = RandomSeed::from(7);
/// let (mut one, mut again) = (seed.stream("shape"), seed.stream("shape"));
/// assert_eq!(one.below(1_000), again.below(1_000));
/// assert_ne!(seed.stream("shape").bits(), seed.stream("alerts").bits());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RandomSeed(u64);

impl From<u64> for RandomSeed {
    fn from(seed: u64) -> Self {
        Self(seed)
    }
}

impl fmt::Display for RandomSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl RandomSeed {
    /// The stream of a purpose.
    pub fn stream(self, purpose: &str) -> Stream {
        Stream::keyed(self, purpose, &[])
    }

    /// The stream of one attempt at one question: what a wrapper draws from when it must depend on
    /// the question alone, whatever was asked before.
    pub fn about(self, purpose: &str, question: &Digest, attempt: u64) -> Stream {
        let mut rest = question.to_string().into_bytes();
        rest.extend(attempt.to_le_bytes());
        Stream::keyed(self, purpose, &rest)
    }

    /// Another seed, for a part that derives streams itself.
    #[must_use]
    pub fn child(self, purpose: &str) -> Self {
        Self(Stream::keyed(self, purpose, b"child").bits())
    }
}

/// A stream of draws for one purpose; see [`RandomSeed`].
#[derive(Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    fn keyed(seed: RandomSeed, purpose: &str, rest: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.0.to_le_bytes());
        // The length keeps purpose and rest apart.
        hasher.update(&(purpose.len() as u64).to_le_bytes());
        hasher.update(purpose.as_bytes());
        hasher.update(rest);
        Self(ChaCha8Rng::from_seed(*hasher.finalize().as_bytes()))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        rand::Rng::next_u64(&mut self.0)
    }

    /// A number below `bound`, or 0 when that is 0. The high half of a product: numbers are as
    /// likely as each other to within `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.bits()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included; `low` when the range is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// A position in a list of this length; 0 when it is empty.
    pub fn position(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// A number in `[0, 1)`, a multiple of 2⁻⁵³.
    pub fn share(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.bits() >> 11) as f64 * STEP
    }

    /// True with this probability. Always takes one draw.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// A whole number whose mean is `mean`: the one below or the one above it.
    pub fn around(&mut self, mean: f64) -> usize {
        let whole = mean.max(0.0).floor();
        whole as usize + usize::from(self.chance(mean - whole))
    }

    /// One item, or nothing when there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.position(items.len()))
    }

    /// `count` different positions of a list of this length (all when there are no more), in the
    /// order of drawing.
    pub fn sample(&mut self, length: usize, count: usize) -> Vec<usize> {
        let mut positions: Vec<usize> = Vec::new();
        if count < length / 8 {
            // Few of many: draw again what was drawn before.
            let mut drawn = std::collections::BTreeSet::new();
            while positions.len() < count {
                let position = self.position(length);
                if drawn.insert(position) {
                    positions.push(position);
                }
            }
        } else {
            positions.extend(0..length);
            for place in 0..count.min(length) {
                let other = place + self.position(length - place);
                positions.swap(place, other);
            }
            positions.truncate(count);
        }
        positions
    }

    /// One of the kinds by their shares, or nothing with what is left of 1. Takes one draw.
    pub fn kind<T: Copy>(&mut self, shares: &[(f64, T)]) -> Option<T> {
        let mut left = self.share();
        for (share, kind) in shares {
            if left < *share {
                return Some(*kind);
            }
            left -= share;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn streams_are_the_same_on_every_machine() {
        // Written down once: if they change, every seed in a report means another incident.
        let mut stream = RandomSeed::from(7).stream("golden");
        assert_eq!(
            [stream.bits(), stream.bits()],
            [7_039_347_742_634_143_995, 10_412_509_912_063_545_343]
        );
        assert_eq!(stream.below(1_000), 459);
        let about = RandomSeed::from(7).about("golden", &Digest::ZERO, 1).bits();
        assert_eq!(about, 15_303_632_898_197_018_937);
    }

    #[test]
    fn seed_purpose_question_and_attempt_each_make_another_stream() {
        let (seed, other) = (RandomSeed::from(1), RandomSeed::from(2));
        let (question, another) = (Digest::ZERO, Digest::of(&1));
        let streams = [
            seed.stream("a"),
            seed.stream("b"),
            other.stream("a"),
            seed.child("a").stream("a"),
            seed.about("a", &question, 1),
            seed.about("b", &question, 1),
            other.about("a", &question, 1),
            seed.about("a", &another, 1),
            seed.about("a", &question, 2),
        ];
        let first: BTreeSet<u64> = streams.into_iter().map(|mut stream| stream.bits()).collect();
        assert_eq!(first.len(), 9);
    }

    #[test]
    fn draws_keep_to_their_bounds_and_reach_them() {
        let mut stream = RandomSeed::from(1).stream("bounds");
        let drawn: BTreeSet<u64> = (0..200).map(|_| stream.between(3, 7)).collect();
        assert_eq!(drawn, BTreeSet::from([3, 4, 5, 6, 7]));
        assert_eq!((stream.below(0), stream.between(5, 5), stream.position(0)), (0, 5, 0));
        assert_eq!(stream.between(u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(stream.pick::<u8>(&[]), None);
        for (probability, expected) in [(0.0, 0), (1.0, 100)] {
            assert_eq!((0..100).filter(|_| stream.chance(probability)).count(), expected);
        }
        let around: BTreeSet<usize> = (0..100).map(|_| stream.around(2.5)).collect();
        assert_eq!(around, BTreeSet::from([2, 3]));
        assert_eq!((stream.around(4.0), stream.around(-1.0)), (4, 0));
    }

    #[test]
    fn samples_hold_each_position_at_most_once() {
        let mut stream = RandomSeed::from(1).stream("samples");
        for (length, count) in [(0, 3), (5, 0), (5, 3), (5, 9), (1_000, 10), (1_000, 900)] {
            let sample = stream.sample(length, count);
            let distinct: BTreeSet<&usize> = sample.iter().collect();
            assert_eq!((sample.len(), distinct.len()), (count.min(length), count.min(length)));
            assert!(sample.iter().all(|position| *position < length));
        }
    }

    #[test]
    fn kinds_come_by_their_shares() {
        let mut stream = RandomSeed::from(1).stream("kinds");
        let mut counts = [0; 3];
        for _ in 0..1_000 {
            counts[stream.kind(&[(0.2, 0), (0.3, 1)]).unwrap_or(2)] += 1;
        }
        assert_eq!(counts, [200, 305, 495]);
    }
}
