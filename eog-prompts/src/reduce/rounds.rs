//! Lists that are played down in rounds, like a tournament.

use std::ops::Range;

/// The pages of one round: consecutive items, at most `budget` tokens and `most` items each. An item
/// that is larger than the budget is a page of its own.
pub(crate) fn pages(sizes: &[u64], budget: u64, most: usize) -> Vec<Range<usize>> {
    let mut pages: Vec<Range<usize>> = Vec::new();
    let mut taken = 0_u64;
    for (at, size) in sizes.iter().enumerate() {
        taken = taken.saturating_add(*size);
        match pages.last_mut() {
            Some(page) if taken <= budget && page.len() < most => page.end = at + 1,
            _ => {
                taken = *size;
                pages.push(at..at + 1);
            }
        }
    }
    pages
}

/// How many items of a page of `length` may win in a round, counted from 1.
///
/// In the first round `cap` is the only limit. Later rounds exist because the winners were too
/// many: at most half of a page wins, so that every round ends with fewer than it began.
pub(crate) fn next_cap(round: usize, length: usize, cap: usize) -> usize {
    let limit = if round <= 1 { length } else { length.div_ceil(2) };
    cap.min(limit).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_keep_both_limits() {
        assert_eq!(pages(&[1; 7], 100, 3), [0..3, 3..6, 6..7]);
        assert_eq!(pages(&[50; 5], 100, 3), [0..2, 2..4, 4..5]);
        assert_eq!(pages(&[50; 2], 100, 0), [0..1, 1..2]);
        assert!(pages(&[], 100, 3).is_empty());
    }

    #[test]
    fn later_rounds_always_shrink() {
        assert_eq!(next_cap(1, 40, 15), 15);
        assert_eq!(next_cap(1, 4, 15), 4);
        assert_eq!(next_cap(2, 4, 15), 2);
        assert_eq!(next_cap(2, 40, 15), 15);
        assert_eq!(next_cap(3, 1, 15), 1);
    }
}
