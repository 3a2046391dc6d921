//! A minimum cover: the fewest groups that together reach every explained anomaly.

use std::collections::BTreeSet;

/// Up to this many groups the cover is exact.
const EXACT_UP_TO: usize = 20;

/// A cover of all explained anomalies.
#[derive(Debug, PartialEq)]
pub(super) struct Cover {
    /// The positions of its groups, sorted.
    pub(super) groups: Vec<usize>,
    /// Whether it is a minimum cover, not a greedy one.
    pub(super) exact: bool,
    /// Those of its groups that no other cover of this size does without.
    pub(super) needed: Vec<usize>,
}

/// The smallest set of groups that covers what all of them cover.
///
/// Groups are given by what they cover, sorted by name. Among covers of equal size the
/// lexicographically smallest is taken; beyond 20 groups, greedily by gain, then name, and a group
/// is needed when it alone covers some anomaly.
pub(super) fn minimum_cover(groups: &[&[usize]], anomalies: usize) -> Cover {
    let mut sets: Vec<Bits> = groups.iter().map(|covers| Bits::of(covers, anomalies)).collect();
    let mut wanted = Bits::of(&[], anomalies);
    for set in &sets {
        wanted.add(set);
    }
    if groups.len() > EXACT_UP_TO {
        let chosen = greedy(groups);
        let alone = |group: &usize| {
            let others = (0..groups.len()).filter(|other| other != group);
            let mut covered = Bits::of(&[], anomalies);
            others.for_each(|other| covered.add(&sets[other]));
            covered != wanted
        };
        let needed = chosen.iter().copied().filter(alone).collect();
        return Cover { groups: chosen, exact: false, needed };
    }
    let nothing = Bits::of(&[], anomalies);
    let cover = |sets: &[Bits], size: usize| {
        let mut chosen = Vec::with_capacity(size);
        choose(sets, &wanted, size, 0, &nothing, &mut chosen).then_some(chosen)
    };
    let chosen = (0..=groups.len()).find_map(|size| cover(&sets, size)).unwrap_or_default();
    let mut needed = Vec::new();
    for &group in &chosen {
        // Without what it covers, is there still a cover of this size?
        let without = std::mem::replace(&mut sets[group], nothing.clone());
        if cover(&sets, chosen.len()).is_none() {
            needed.push(group);
        }
        sets[group] = without;
    }
    Cover { groups: chosen, exact: true, needed }
}

/// Extends `chosen` by `left` groups from `from` on, in lexicographic order, until all is covered.
fn choose(
    sets: &[Bits],
    wanted: &Bits,
    left: usize,
    from: usize,
    covered: &Bits,
    chosen: &mut Vec<usize>,
) -> bool {
    if left == 0 {
        return covered == wanted;
    }
    for next in from..=sets.len().saturating_sub(left) {
        let Some(set) = sets.get(next) else { break };
        let mut with_next = covered.clone();
        with_next.add(set);
        chosen.push(next);
        if choose(sets, wanted, left - 1, next + 1, &with_next, chosen) {
            return true;
        }
        chosen.pop();
    }
    false
}

fn greedy(groups: &[&[usize]]) -> Vec<usize> {
    let mut open: BTreeSet<usize> =
        groups.iter().flat_map(|covers| covers.iter().copied()).collect();
    let mut chosen = Vec::new();
    while !open.is_empty() {
        let gain = |group: usize| groups[group].iter().filter(|a| open.contains(a)).count();
        // `max_by_key` takes the last of equals; reversed, that is the first by name.
        let Some(best) = (0..groups.len()).rev().max_by_key(|&group| gain(group)) else { break };
        for anomaly in groups[best] {
            open.remove(anomaly);
        }
        chosen.push(best);
    }
    chosen.sort_unstable();
    chosen
}

/// A set of anomalies.
#[derive(Clone, PartialEq)]
struct Bits(Vec<u64>);

impl Bits {
    fn of(members: &[usize], size: usize) -> Self {
        let mut words = vec![0; size.div_ceil(64)];
        for &member in members {
            if let Some(word) = words.get_mut(member / 64) {
                *word |= 1 << (member % 64);
            }
        }
        Self(words)
    }

    fn add(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cover, minimum_cover};

    #[test]
    fn takes_the_fewest_and_then_the_first() {
        let cover = |groups: &[&[usize]], anomalies, expected: &[usize], needed: &[usize]| {
            let (groups, needed) = (minimum_cover(groups, anomalies), needed.to_vec());
            assert_eq!(groups, Cover { groups: expected.to_vec(), exact: true, needed });
        };
        cover(&[&[0], &[1], &[0, 1]], 2, &[2], &[2]);
        // Any two of the three will do, so none of them is needed.
        cover(&[&[0, 1], &[1, 2], &[0, 2]], 3, &[0, 1], &[]);
        cover(&[&[0], &[0], &[1]], 2, &[0, 2], &[2]);
        cover(&[&[], &[]], 3, &[], &[]);
        cover(&[], 0, &[], &[]);
        cover(&[&[70], &[3]], 71, &[0, 1], &[0, 1]);
    }

    #[test]
    fn is_greedy_beyond_twenty_groups() {
        let singles: Vec<Vec<usize>> = (0..21).map(|n| vec![n]).collect();
        let mut groups: Vec<&[usize]> = singles.iter().map(Vec::as_slice).collect();
        let all: Vec<usize> = (0..21).collect();
        groups.push(&all);
        let expected = Cover { groups: vec![21], exact: false, needed: vec![] };
        assert_eq!(minimum_cover(&groups, 21), expected);
    }
}
