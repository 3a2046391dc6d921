//! An order of suspects with ties, and what it scores on average over all orders of the tied.

use std::collections::BTreeSet;

use eog::EntityId;

/// Suspects, best first, in tiers: those of one tier are tied.
///
/// Scores are expected values over all orders of the tied (McSherry and Najork 2008), so that they
/// depend neither on names nor on chance.
///
/// ```
/// use eog::EntityId;
/// use eog_eval::Ranking;
/// let (a, b) = (EntityId::new("a")?, EntityId::new("b")?);
/// let ranking = Ranking::new([vec![a.clone(), b]]);
/// let truth = [a].into();
/// assert_eq!(ranking.hit_at(1, &truth), 0.5);
/// assert_eq!(ranking.hit_at(2, &truth), 1.0);
/// # Ok::<(), eog::InvalidId>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranking {
    tiers: Vec<Vec<EntityId>>,
}

impl Ranking {
    /// A ranking of these tiers. An entity counts where it comes first; empty tiers are dropped.
    pub fn new(tiers: impl IntoIterator<Item = Vec<EntityId>>) -> Self {
        let mut seen = BTreeSet::new();
        let fresh = |tier: Vec<EntityId>| -> Vec<EntityId> {
            tier.into_iter().filter(|entity| seen.insert(entity.clone())).collect()
        };
        Self { tiers: tiers.into_iter().map(fresh).filter(|tier| !tier.is_empty()).collect() }
    }

    /// A ranking by score, greatest first; equal scores are tied.
    pub fn by_score(scored: impl IntoIterator<Item = (EntityId, f64)>) -> Self {
        let mut scored: Vec<(EntityId, f64)> = scored.into_iter().collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let tiers = scored.chunk_by(|a, b| a.1.total_cmp(&b.1).is_eq());
        Self::new(tiers.map(|tier| tier.iter().map(|(entity, _)| entity.clone()).collect()))
    }

    /// The tiers, best first.
    pub fn tiers(&self) -> &[Vec<EntityId>] {
        &self.tiers
    }

    /// All ranked entities, best first, the tied by name.
    pub fn entities(&self) -> impl Iterator<Item = &EntityId> {
        self.tiers.iter().flatten()
    }

    /// The probability that at least one of the causes is among the first `k`.
    pub fn hit_at(&self, k: usize, truth: &BTreeSet<EntityId>) -> f64 {
        for (before, tier) in self.placed() {
            let relevant = count(tier, truth);
            if relevant == 0 {
                continue;
            }
            let places = k.saturating_sub(before).min(tier.len());
            // Probability that none of the relevant ones is on one of the places.
            let missed = (0..places).fold(1.0, |missed, drawn| {
                let left = (tier.len() - drawn) as f64;
                missed * ((left - relevant as f64) / left).max(0.0)
            });
            return 1.0 - missed;
        }
        0.0
    }

    /// Precision at `k`: the share of causes among the first `k` places. Places that the ranking
    /// does not fill are wrong.
    pub fn precision_at(&self, k: usize, truth: &BTreeSet<EntityId>) -> f64 {
        if k == 0 {
            return 0.0;
        }
        let expected = |(before, tier): (usize, &Vec<EntityId>)| {
            let places = k.saturating_sub(before).min(tier.len());
            count(tier, truth) as f64 * places as f64 / tier.len() as f64
        };
        // A sum of nothing is -0.
        (self.placed().map(expected).sum::<f64>() + 0.0) / k as f64
    }

    /// Average precision: the mean over the causes of the precision at the place of each; causes
    /// that are not ranked count zero.
    pub fn average_precision(&self, truth: &BTreeSet<EntityId>) -> f64 {
        let mut found = 0.0;
        let mut sum = 0.0;
        for (before, tier) in self.placed() {
            let relevant = count(tier, truth) as f64;
            let size = tier.len() as f64;
            let others = if tier.len() > 1 { (relevant - 1.0) / (size - 1.0) } else { 0.0 };
            if relevant > 0.0 {
                for place in 0..tier.len() {
                    let hits = found + place as f64 * others + 1.0;
                    sum += relevant / size * hits / (before + place + 1) as f64;
                }
            }
            found += relevant;
        }
        if truth.is_empty() { 0.0 } else { sum / truth.len() as f64 }
    }

    /// Tiers with the number of entities before them.
    fn placed(&self) -> impl Iterator<Item = (usize, &Vec<EntityId>)> {
        let mut before = 0;
        self.tiers.iter().map(move |tier| {
            before += tier.len();
            (before - tier.len(), tier)
        })
    }
}

fn count(tier: &[EntityId], truth: &BTreeSet<EntityId>) -> usize {
    tier.iter().filter(|entity| truth.contains(*entity)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> EntityId {
        EntityId::new(name).unwrap()
    }

    /// `a|bc|d` is a before b and c, tied, before d.
    fn ranking(text: &str) -> Ranking {
        Ranking::new(
            text.split('|').map(|tier| tier.chars().map(|name| id(&name.to_string())).collect()),
        )
    }

    fn truth(names: &str) -> BTreeSet<EntityId> {
        names.chars().map(|name| id(&name.to_string())).collect()
    }

    fn orders(items: &[EntityId]) -> Vec<Vec<EntityId>> {
        if items.is_empty() {
            return vec![vec![]];
        }
        (0..items.len())
            .flat_map(|at| {
                let mut rest = items.to_vec();
                let first = rest.remove(at);
                orders(&rest).into_iter().map(move |mut order| {
                    order.insert(0, first.clone());
                    order
                })
            })
            .collect()
    }

    /// Every order of a ranking, its tiers permuted within themselves.
    fn all_orders(ranking: &Ranking) -> Vec<Vec<EntityId>> {
        ranking.tiers().iter().fold(vec![vec![]], |all, tier| {
            all.iter()
                .flat_map(|head: &Vec<EntityId>| {
                    orders(tier).into_iter().map(move |tail| [head.clone(), tail].concat())
                })
                .collect()
        })
    }

    #[test]
    fn scores_are_means_over_all_orders_of_the_tied() {
        for (tiers, causes) in
            [("a", "a"), ("abcd", "ac"), ("ab|cde|f", "bcf"), ("ab|cd", "x"), ("abc|de", "acz")]
        {
            let (ranking, causes) = (ranking(tiers), truth(causes));
            let all = all_orders(&ranking);
            let mean = |score: &dyn Fn(&[EntityId]) -> f64| {
                all.iter().map(|order| score(order)).sum::<f64>() / all.len() as f64
            };
            for k in 1..=7 {
                let among = |order: &[EntityId]| {
                    order.iter().take(k).filter(|entity| causes.contains(*entity)).count() as f64
                };
                let hit = mean(&|order| among(order).min(1.0));
                assert!((ranking.hit_at(k, &causes) - hit).abs() < 1e-9, "{tiers} {k}");
                let precision = mean(&|order| among(order) / k as f64);
                assert!((ranking.precision_at(k, &causes) - precision).abs() < 1e-9);
            }
            let average = mean(&|order| {
                let (mut hits, mut sum) = (0.0, 0.0);
                for (place, entity) in order.iter().enumerate() {
                    if causes.contains(entity) {
                        hits += 1.0;
                        sum += hits / (place + 1) as f64;
                    }
                }
                sum / causes.len() as f64
            });
            assert!((ranking.average_precision(&causes) - average).abs() < 1e-9, "{tiers}");
        }
    }

    #[test]
    fn equal_scores_are_tied_and_an_entity_counts_once() {
        let ranking = Ranking::by_score([(id("a"), 1.0), (id("b"), 2.0), (id("c"), 1.0)]);
        assert_eq!(ranking.tiers(), [vec![id("b")], vec![id("a"), id("c")]]);
        assert_eq!(Ranking::new([vec![id("a")], vec![id("a")], vec![]]).tiers().len(), 1);
    }
}
