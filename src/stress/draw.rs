//! Numbers that are derived, not random: the same seed and purpose give the same numbers anywhere.

/// A stream of numbers for one purpose.
pub(super) struct Draw(blake3::OutputReader);

impl Draw {
    /// The stream that follows from a seed, a purpose, and what it is for.
    pub(super) fn new(seed: u64, purpose: &str, of: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&seed.to_le_bytes());
        // Lengths keep "a" + "bc" and "ab" + "c" apart.
        hasher.update(&(purpose.len() as u64).to_le_bytes());
        hasher.update(purpose.as_bytes());
        hasher.update(of.as_bytes());
        Self(hasher.finalize_xof())
    }

    pub(super) fn next(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// A number below `limit`, which is at least 1. For limits that occur here the bias is far
    /// below one in a billion.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// One of several; nothing where there is none.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> Option<T> {
        choices.get(self.below(choices.len() as u64) as usize).copied()
    }

    /// A permutation of `0..length` (Fisher and Yates).
    pub(super) fn permutation(&mut self, length: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..length).collect();
        for last in (1..length).rev() {
            order.swap(last, self.below(last as u64 + 1) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::Draw;

    #[test]
    fn streams_differ_by_seed_purpose_and_object() {
        let first = |seed, purpose, of| Draw::new(seed, purpose, of).next();
        assert_eq!(first(1, "a", "b"), first(1, "a", "b"));
        let all = [first(1, "a", "bc"), first(2, "a", "bc"), first(1, "ab", "c")];
        assert!(all[0] != all[1] && all[0] != all[2]);
    }

    #[test]
    fn every_permutation_comes_up_about_equally_often() {
        let mut seen = std::collections::BTreeMap::<Vec<usize>, u32>::new();
        for number in 0..6000 {
            let order = Draw::new(7, "permutation", &number.to_string()).permutation(3);
            *seen.entry(order).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|&times| (850..1150).contains(&times)), "{seen:?}");
    }
}
