//! How many edges lie between some entities and all others: 64 searches at a time.

use crate::paths::MAX_PATH_HOPS;
use crate::ways::{Lanes, Lists, Number};

/// So many bits hold a distance.
const BITS: usize = 4;

/// The distance of what is not reached: all bits are set.
const UNREACHED: usize = (1 << BITS) - 1;

const _: () = assert!(MAX_PATH_HOPS < UNREACHED);

/// A set of the ends of one block: bit *n* is its *n*-th end.
type Set = u64;

/// How many ends a block has.
const BLOCK: usize = Set::BITS as usize;

/// How far an entity is from each end of a block: one set for each bit of the distance.
type Far = [Set; BITS];

/// How far all entities are from each of some entities, the *ends*: up to [`MAX_PATH_HOPS`] edges.
///
/// The ends of a block are searched from together, edge by edge, so that 64 of them take hardly
/// more steps than one. A distance takes half a byte.
#[derive(Debug)]
pub(crate) struct Spread {
    /// For each block of ends the distances of each entity.
    blocks: Vec<Vec<Far>>,
}

impl Spread {
    /// How far it is from each of some sources.
    pub(crate) fn from(lanes: &Lanes, sources: &[Number]) -> Self {
        Self::search(&lanes.onward, sources)
    }

    /// How far it is to each of some targets.
    pub(crate) fn to(lanes: &Lanes, targets: &[Number]) -> Self {
        Self::search(&lanes.back, targets)
    }

    fn search(lists: &Lists, ends: &[Number]) -> Self {
        Self { blocks: ends.chunks(BLOCK).map(|ends| search(lists, ends)).collect() }
    }

    /// The edges between an end, by its place among the ends, and an entity.
    pub(crate) fn hops(&self, end: usize, entity: Number) -> Option<usize> {
        let far = self.blocks.get(end / BLOCK)?.get(entity as usize)?;
        let bits = far.iter().rev().map(|set| (set >> (end % BLOCK)) as usize & 1);
        let hops = bits.fold(0, |hops, bit| hops << 1 | bit);
        (hops < UNREACHED).then_some(hops)
    }

    /// The shortest path to a target, by its place among the ends, both inclusive; of several the
    /// first by name. For what [`Spread::to`] gave.
    pub(crate) fn path_to(
        &self,
        lanes: &Lanes,
        start: Number,
        target: usize,
    ) -> Option<Vec<Number>> {
        let mut path = vec![start];
        for left in (0..self.hops(target, start)?).rev() {
            let mut onward = lanes.onward.of(*path.last()?);
            path.push(onward.find(|one| self.hops(target, *one) == Some(left))?);
        }
        Some(path)
    }

    /// The shortest path from a source, by its place among the ends and its number, both
    /// inclusive; of several the first by name. For what [`Spread::from`] gave.
    pub(crate) fn path_from(
        &self,
        lanes: &Lanes,
        (source, start): (usize, Number),
        end: Number,
    ) -> Option<Vec<Number>> {
        let hops = self.hops(source, end)?;
        // The entities on any shortest path, from its end back to the first step.
        let mut steps = vec![vec![end]];
        for gone in (1..hops).rev() {
            let before = steps.last()?.iter().flat_map(|one| lanes.back.of(*one));
            let mut step: Vec<Number> =
                before.filter(|one| self.hops(source, *one) == Some(gone)).collect();
            step.sort_unstable();
            step.dedup();
            steps.push(step);
        }
        let mut path = vec![start];
        for step in steps.iter().rev().take(hops) {
            let at = *path.last()?;
            path.push(step.iter().copied().find(|one| lanes.onward.has(at, *one))?);
        }
        Some(path)
    }
}

/// Searches breadth first from all ends of a block.
fn search(lists: &Lists, ends: &[Number]) -> Vec<Far> {
    let mut all: Vec<Far> = vec![[Set::MAX; BITS]; lists.count()];
    let mut coming: Vec<Set> = vec![0; lists.count()];
    // The entities reached by the last step, and from which ends.
    let mut front: Vec<(Number, Set)> = ends.iter().copied().zip((0..).map(|n| 1 << n)).collect();
    for hops in 0..=MAX_PATH_HOPS {
        for (entity, reached) in &front {
            if let Some(far) = all.get_mut(*entity as usize) {
                write(far, *reached, hops);
            }
        }
        if hops == MAX_PATH_HOPS {
            break;
        }
        let mut next = Vec::new();
        for (entity, reached) in front {
            for one in lists.of(entity) {
                let at = one as usize;
                let (Some(far), Some(coming)) = (all.get(at), coming.get_mut(at)) else { continue };
                let new = reached & far.iter().fold(Set::MAX, |unreached, set| unreached & set);
                if new != 0 && *coming == 0 {
                    next.push(one);
                }
                *coming |= new;
            }
        }
        let mut take = |one: Number| Some((one, std::mem::take(coming.get_mut(one as usize)?)));
        front = next.into_iter().filter_map(&mut take).collect();
    }
    all
}

/// Writes the distance of ends that were not reached before: all their bits are still set.
fn write(far: &mut Far, reached: Set, hops: usize) {
    for (bit, set) in far.iter_mut().enumerate() {
        if hops >> bit & 1 == 0 {
            *set &= !reached;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::{Travel, effect_path};
    use crate::ways::Ways;
    use crate::worlds::shapes::{Changes, Large, SHAPES};

    #[test]
    fn many_searches_find_what_each_finds_alone() {
        for shape in SHAPES {
            let Large { topology, .. } = Large::new(150, shape, Changes::Spread);
            let ways = Ways::of(&topology, &[], &[]);
            let lanes = ways.lanes(Travel::Effects);
            // More than two blocks, some ends twice.
            let ends: Vec<Number> = (0..140).map(|end| end * 7 % 137).collect();
            let (from, to) = (Spread::from(lanes, &ends), Spread::to(lanes, &ends));
            for (place, end) in ends.iter().enumerate().step_by(3) {
                for one in (0..150).step_by(5) {
                    let name = |number: Number| ways.name(number).unwrap();
                    let path = effect_path(&topology, name(*end), name(one));
                    let found = from.path_from(lanes, (place, *end), one);
                    assert_eq!(found.map(|path| ways.named(&path)), path, "{shape:?}");
                    assert_eq!(from.hops(place, one), path.map(|path| path.len() - 1));
                    let path = effect_path(&topology, name(one), name(*end));
                    let found = to.path_to(lanes, one, place);
                    assert_eq!(found.map(|path| ways.named(&path)), path, "{shape:?}");
                    assert_eq!(to.hops(place, one), path.map(|path| path.len() - 1));
                }
            }
        }
    }
}
