//! Probabilities of hypotheses about the origin, from the log-odds that policies give.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::Verdict;
use crate::ids::EntityId;
use crate::state::State;

/// Log-odds by entity, in thousandths, of every entity that may be the origin: its own, or the greatest that others hand to
/// it ([`Measures::handed`](crate::Measures::handed)).
pub(super) struct Hypotheses<'s> {
    log_odds: BTreeMap<&'s EntityId, i32>,
    /// The greatest of them, or that of *no known origin*, which is zero.
    greatest: i32,
    /// What all of them weigh together.
    total: f64,
}

impl<'s> Hypotheses<'s> {
    pub(super) fn of(state: &'s State) -> Self {
        let possible =
            state.nodes.iter().filter(|(_, node)| node.verdict() != Some(Verdict::NotCause));
        let log_odds = possible.filter_map(|(entity, node)| {
            Some((entity, node.belief.as_ref()?.measures.as_ref()?.log_odds))
        });
        let mut log_odds: BTreeMap<&EntityId, i32> = log_odds.collect();
        let measures =
            state.nodes.values().filter_map(|node| node.belief.as_ref()?.measures.as_ref());
        for (entity, handed) in measures.flat_map(|measures| &measures.handed) {
            if let Some(own) = log_odds.get_mut(entity) {
                *own = (*own).max(*handed);
            }
        }
        let greatest = log_odds.values().copied().max().unwrap_or(0).max(0);
        let total = log_odds.values().map(|it| weight(*it, greatest)).sum();
        Self { log_odds, greatest, total }
    }

    /// The greatest log-odds of some origins, where their policy gives any.
    pub(super) fn log_odds(&self, origins: &[EntityId]) -> Option<i32> {
        origins.iter().filter_map(|origin| self.log_odds.get(origin)).copied().max()
    }

    /// The probability in thousandths that one of these entities is the origin: the softmax of log-odds over them, all
    /// others but `besides`, and *no known origin*. `besides` explain something else. Nothing where the policy gives no
    /// log-odds.
    ///
    /// Summed up in the order of names, with an exponential in software: the same on every platform.
    pub(super) fn probability(
        &self,
        origins: &[EntityId],
        besides: &BTreeSet<&EntityId>,
    ) -> Option<u16> {
        let weight = |log_odds: i32| weight(log_odds, self.greatest);
        let of = |entity: &EntityId| self.log_odds.get(entity).map_or(0.0, |it| weight(*it));
        let own = weight(self.log_odds(origins)?);
        let beside =
            besides.iter().filter(|it| !origins.contains(it)).map(|it| of(it)).sum::<f64>();
        let group = origins.iter().map(of).sum::<f64>();
        let others = (self.total - beside - group).max(0.0);
        Some((own / (own + others + weight(0)) * 1e3).round() as u16)
    }
}

fn weight(log_odds: i32, greatest: i32) -> f64 {
    libm::exp((f64::from(log_odds) - f64::from(greatest)) / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_explains_something_else_does_not_compete() {
        let names = ["a", "b", "c"].map(|name| EntityId::new(name).unwrap());
        let log_odds = BTreeMap::from([(&names[0], 3_000), (&names[1], 3_000), (&names[2], 0)]);
        let total = log_odds.values().map(|it| weight(*it, 3_000)).sum();
        let all = Hypotheses { log_odds, greatest: 3_000, total };
        let of_first = |besides| all.probability(&names[..1], &besides);
        // e³ of 2e³ + 2, and of e³ + 2.
        assert_eq!(of_first(BTreeSet::new()), Some(476));
        assert_eq!(of_first(BTreeSet::from([&names[1]])), Some(909));
    }
}
