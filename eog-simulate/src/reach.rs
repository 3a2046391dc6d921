//! What can be reached from a start.

use std::collections::BTreeSet;

/// Everything that is reached from some starts, these included, by going on with `next` from each.
pub(crate) fn reached<T: Ord + Copy, I: IntoIterator<Item = T>>(
    starts: impl IntoIterator<Item = T>,
    next: impl Fn(T) -> I,
) -> BTreeSet<T> {
    let mut open: Vec<T> = starts.into_iter().collect();
    let mut seen: BTreeSet<T> = open.iter().copied().collect();
    while let Some(at) = open.pop() {
        open.extend(next(at).into_iter().filter(|other| seen.insert(*other)));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_and_all_beyond_are_reached_once() {
        let edges = [(1, 2), (2, 1), (2, 3), (4, 1)];
        let next = |at| edges.into_iter().filter(move |(from, _)| *from == at).map(|(_, to)| to);
        assert_eq!(reached([1], next), BTreeSet::from([1, 2, 3]));
        assert_eq!(reached([3, 4], next), BTreeSet::from([1, 2, 3, 4]));
        assert_eq!(reached([], next), BTreeSet::new());
    }
}
