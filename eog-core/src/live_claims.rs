//! The live claims by number, kept up to date with every commit, so that a conclusion need not
//! look up names.

use std::collections::BTreeMap;

use crate::belief::Claim;
use crate::ids::EntityId;

/// Cause and effect of every live claim, as numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveClaims {
    numbers: BTreeMap<EntityId, u32>,
    /// By the owner's number.
    of_owner: Vec<Vec<(u32, u32)>>,
}

impl LiveClaims {
    /// Puts the claims of an owner in place of its earlier ones.
    pub(crate) fn replace(&mut self, owner: &EntityId, claims: &[Claim]) {
        let own = self.assign(owner);
        let mut edges = Vec::with_capacity(claims.len());
        for claim in claims {
            edges.push((self.assign(&claim.cause), self.assign(&claim.effect)));
        }
        if let Some(earlier) = self.of_owner.get_mut(own as usize) {
            *earlier = edges;
        }
    }

    /// The number of an entity that was ever decided on or claimed.
    pub(crate) fn number(&self, entity: &EntityId) -> Option<u32> {
        self.numbers.get(entity).copied()
    }

    /// How many entities have a number; numbers are smaller than this.
    pub(crate) fn entities(&self) -> usize {
        self.of_owner.len()
    }

    /// Cause and effect of every live claim; an edge that two owners claim comes twice.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (u32, u32)> {
        self.of_owner.iter().flatten().copied()
    }

    fn assign(&mut self, entity: &EntityId) -> u32 {
        if let Some(number) = self.number(entity) {
            return number;
        }
        // Entities are numbered in 32 bits: more do not fit into memory.
        let number = u32::try_from(self.of_owner.len()).unwrap_or(u32::MAX);
        self.numbers.insert(entity.clone(), number);
        self.of_owner.push(Vec::new());
        number
    }
}
