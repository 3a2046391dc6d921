//! Long lists in overlapping chunks.

use std::ops::Range;

/// Splits a list into consecutive chunks of at most `budget` tokens. Each chunk but the first
/// begins with the last items of the previous one, up to `overlap` tokens.
///
/// Every item is in a chunk, and each chunk ends later than the previous one. An item that is larger
/// than the budget gets a chunk of its own. Chunks are filled greedily from the left; an overlap
/// that would leave no room for the next item is shortened.
///
/// ```
/// use eog_prompts::chunk_ranges;
/// assert_eq!(chunk_ranges(&[40, 40, 40, 40], 100, 0), [0..2, 2..4]);
/// assert_eq!(chunk_ranges(&[40, 30, 30, 40], 100, 30), [0..3, 2..4]);
/// assert!(chunk_ranges(&[], 100, 30).is_empty());
/// ```
pub fn chunk_ranges(sizes: &[u64], budget: u64, overlap: u64) -> Vec<Range<usize>> {
    let mut chunks: Vec<Range<usize>> = Vec::new();
    let mut next = 0;
    while next < sizes.len() {
        let floor = chunks.last().map_or(next, |before| before.start + 1);
        let start = match budget.checked_sub(sizes[next]) {
            Some(room) => first_within(sizes, floor..next, overlap.min(room)),
            None => next,
        };
        let end = end_within(sizes, start, budget).max(next + 1);
        chunks.push(start..end);
        next = end;
    }
    chunks
}

/// Where the items that end `range` begin, when they may take `budget` tokens together.
fn first_within(sizes: &[u64], range: Range<usize>, budget: u64) -> usize {
    let mut taken = 0_u64;
    let mut start = range.end;
    for at in range.rev() {
        taken = taken.saturating_add(sizes[at]);
        if taken > budget {
            break;
        }
        start = at;
    }
    start
}

/// Where the items that begin at `start` end, when they may take `budget` tokens together.
fn end_within(sizes: &[u64], start: usize, budget: u64) -> usize {
    let mut taken = 0_u64;
    let fitting = sizes[start..].iter().take_while(|size| {
        taken = taken.saturating_add(**size);
        taken <= budget
    });
    start + fitting.count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::chunk_ranges;

    #[test]
    fn a_list_that_fits_is_one_chunk() {
        assert_eq!(chunk_ranges(&[1, 2, 3], 6, 5), std::slice::from_ref(&(0..3)));
    }

    #[test]
    fn giants_stand_alone() {
        assert_eq!(chunk_ranges(&[1, 900, 1], 10, 5), [0..1, 1..2, 2..3]);
    }

    #[test]
    fn an_overlap_leaves_room_for_the_next_item() {
        assert_eq!(chunk_ranges(&[5, 5, 8, 1], 10, 5), [0..2, 2..4]);
    }

    proptest! {
        #[test]
        fn chunks_cover_the_list_within_their_bounds(
            sizes in prop::collection::vec(0_u64..60, 0..80),
            budget in 1_u64..200,
            overlap in 0_u64..200,
        ) {
            let chunks = chunk_ranges(&sizes, budget, overlap);
            let mut covered = 0;
            let mut before = 0..0;
            for chunk in &chunks {
                prop_assert!(chunk.start <= covered && covered < chunk.end);
                prop_assert!(before.is_empty() || before.start < chunk.start);
                let size: u64 = sizes[chunk.clone()].iter().sum();
                prop_assert!(size <= budget || chunk.len() == 1);
                let shared: u64 = sizes[chunk.start..covered].iter().sum();
                prop_assert!(shared <= overlap);
                covered = chunk.end;
                before = chunk.clone();
            }
            prop_assert_eq!(covered, sizes.len());
        }
    }
}
