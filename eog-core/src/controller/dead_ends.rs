//! Where explanations end that reach no origin.

use std::collections::{BTreeMap, BTreeSet};

use crate::belief::ClaimEdge;
use crate::ids::EntityId;

/// Cause and effect of every live claim, both ways.
pub(super) struct Explanations<'c> {
    effects: BTreeMap<&'c EntityId, Vec<&'c EntityId>>,
    causes: BTreeMap<&'c EntityId, Vec<&'c EntityId>>,
}

impl<'c> Explanations<'c> {
    pub(super) fn new(claims: &'c BTreeSet<ClaimEdge>) -> Self {
        let mut found = Self { effects: BTreeMap::new(), causes: BTreeMap::new() };
        for ClaimEdge { cause, effect } in claims {
            found.effects.entry(cause).or_default().push(effect);
            found.causes.entry(effect).or_default().push(cause);
        }
        found
    }

    /// Everything that an entity leads to, itself included.
    pub(super) fn leads_to(&self, entity: &'c EntityId) -> BTreeSet<&'c EntityId> {
        let mut reached = BTreeSet::new();
        reach(&self.effects, entity, &mut reached);
        reached
    }

    /// Of all that leads to these entities, themselves included, the ends: those that reach back all
    /// that leads to them, a cycle as a whole; and what the ends explain right away. Linear in the
    /// claims.
    pub(super) fn dead_ends(
        &self,
        of: impl IntoIterator<Item = &'c EntityId>,
    ) -> BTreeSet<&'c EntityId> {
        let mut leading = BTreeSet::new();
        for entity in of {
            reach(&self.causes, entity, &mut leading);
        }
        // An entity that is reached from nowhere before is a start. A start that none of the later
        // ones reaches is, with what leads back to it, an end.
        let mut reached = BTreeSet::new();
        let mut starts = Vec::new();
        for &entity in &leading {
            if !reached.contains(entity) {
                starts.push(entity);
                reach(&self.effects, entity, &mut reached);
            }
        }
        let mut reached = BTreeSet::new();
        let mut ends = BTreeSet::new();
        for start in starts.into_iter().rev() {
            if !reached.contains(start) {
                reach(&self.effects, start, &mut reached);
                reach(&self.causes, start, &mut ends);
            }
        }
        let explained = ends.iter().flat_map(|end| self.effects.get(*end)).flatten();
        let explained: Vec<_> = explained.filter(|effect| leading.contains(*effect)).collect();
        ends.extend(explained);
        ends
    }
}

/// Adds an entity and everything that follows it to what was reached.
fn reach<'c>(
    next: &BTreeMap<&'c EntityId, Vec<&'c EntityId>>,
    from: &'c EntityId,
    reached: &mut BTreeSet<&'c EntityId>,
) {
    let mut open = vec![from];
    while let Some(entity) = open.pop() {
        if reached.insert(entity) {
            open.extend(next.get(entity).into_iter().flatten());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dead ends of `target` under claims such as "ab" (a explains b).
    fn ends(claims: &str, target: &str) -> String {
        let name = |letter: char| EntityId::new(letter.to_string()).unwrap();
        let edges = claims.split_whitespace().map(|claim| {
            let mut ends = claim.chars().map(name);
            ClaimEdge { cause: ends.next().unwrap(), effect: ends.next().unwrap() }
        });
        let edges: BTreeSet<ClaimEdge> = edges.collect();
        let targets: Vec<EntityId> = target.chars().map(name).collect();
        let ends = Explanations::new(&edges).dead_ends(&targets);
        ends.into_iter().map(EntityId::as_str).collect()
    }

    #[test]
    fn ends_are_what_nothing_else_leads_to_and_what_they_explain() {
        for (claims, target, expected) in [
            ("", "a", "a"),
            ("ba", "a", "ab"),
            ("ba cb", "a", "bc"),
            ("ba ca dc", "a", "abcd"),
            // A cycle is one end.
            ("ba cb bc", "a", "abc"),
            ("ba cb bc dc", "a", "cd"),
            ("ab bc ca", "a", "abc"),
            // What leads elsewhere does not count.
            ("ba bx yx", "a", "ab"),
            ("ax", "a", "a"),
            ("ba", "ac", "abc"),
        ] {
            assert_eq!(ends(claims, target), expected, "{claims}, {target}");
        }
    }

    #[test]
    fn long_chains_do_not_exhaust_the_stack() {
        let name = |number: usize| EntityId::new(format!("e{number:06}")).unwrap();
        let edges = (0..20_000).map(|n| ClaimEdge { cause: name(n + 1), effect: name(n) });
        let edges: BTreeSet<ClaimEdge> = edges.collect();
        let first = name(0);
        let ends = Explanations::new(&edges).dead_ends([&first]);
        assert_eq!(ends.into_iter().collect::<Vec<_>>(), [&name(19_999), &name(20_000)]);
    }
}
