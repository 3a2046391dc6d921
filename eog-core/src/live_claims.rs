//! The live claims by number, kept up to date with every commit, so that a conclusion need not
//! look up names.

use std::collections::BTreeMap;

use crate::belief::{Claim, Explained};
use crate::ids::EntityId;
use crate::incident::onset::Onset;

/// A live claim without its words.
#[derive(Clone, Debug)]
pub(crate) struct LiveClaim {
    pub(crate) cause: u32,
    pub(crate) effect: u32,
    /// Most claims say nothing of the kind.
    limits: Option<Box<Limits>>,
}

/// What a claim says beyond cause and effect.
#[derive(Clone, Debug)]
struct Limits {
    cause_since: Option<Onset>,
    effect_since: Option<Onset>,
    explains: Option<Vec<Explained>>,
}

impl LiveClaim {
    fn new(cause: u32, effect: u32, claim: &Claim) -> Self {
        let Claim { cause_since, effect_since, explains, .. } = claim;
        let says = cause_since.is_some() || effect_since.is_some() || explains.is_some();
        let (cause_since, effect_since) = (*cause_since, *effect_since);
        let limits = says.then(|| Limits { cause_since, effect_since, explains: explains.clone() });
        Self { cause, effect, limits: limits.map(Box::new) }
    }

    /// Since when the claim says that its cause shows the condition.
    pub(crate) fn cause_since(&self) -> Option<Onset> {
        self.limits.as_ref()?.cause_since
    }

    /// Since when the claim says that its effect shows what was observed.
    pub(crate) fn effect_since(&self) -> Option<Onset> {
        self.limits.as_ref()?.effect_since
    }

    /// Which observations of its effect it explains; `None` where it is all of them.
    pub(crate) fn explains(&self) -> Option<&[Explained]> {
        self.limits.as_ref()?.explains.as_deref()
    }
}

/// Every live claim, with numbers for names.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveClaims {
    numbers: BTreeMap<EntityId, u32>,
    /// By the owner's number.
    of_owner: Vec<Vec<LiveClaim>>,
}

impl LiveClaims {
    /// Puts the claims of an owner in place of its earlier ones.
    pub(crate) fn replace(&mut self, owner: &EntityId, claims: &[Claim]) {
        let own = self.assign(owner);
        let mut edges = Vec::with_capacity(claims.len());
        for claim in claims {
            let (cause, effect) = (self.assign(&claim.cause), self.assign(&claim.effect));
            edges.push(LiveClaim::new(cause, effect, claim));
        }
        if let Some(earlier) = self.of_owner.get_mut(own as usize) {
            *earlier = edges;
        }
    }

    /// The number of an entity that was ever decided on or claimed.
    pub(crate) fn number(&self, entity: &EntityId) -> Option<u32> {
        self.numbers.get(entity).copied()
    }

    /// Every live claim; an edge that two owners claim comes twice.
    pub(crate) fn claims(&self) -> impl Iterator<Item = &LiveClaim> {
        self.of_owner.iter().flatten()
    }

    /// The entities that have a number, by name.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (&EntityId, u32)> {
        self.numbers.iter().map(|(entity, number)| (entity, *number))
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
