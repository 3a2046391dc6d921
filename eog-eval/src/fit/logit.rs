//! A conditional logit: which of the entities of an incident is its cause.
//!
//! The likelihood of an incident is the softmax over its entities (McFadden 1974); several causes share it. Weights are
//! drawn to a prior by an L2 penalty, and keep the sign of the prior. Every system counts alike, whatever its size, and
//! so does every incident within it.

use super::instances::System;

/// Steps of the projected gradient descent: far more than it takes to settle at this size.
const STEPS: usize = 3_000;

/// How the fit is regularised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shrinkage(pub(super) f64);

/// The weights that fit best, in natural log-odds.
pub(super) fn fit(systems: &[&System], prior: &[f64], Shrinkage(strength): Shrinkage) -> Vec<f64> {
    let mut weights = prior.to_vec();
    // Terms are at most 2 in size: the curvature of the likelihood is bounded by their squares.
    let step = 1.0 / (strength + 0.25 * 4.0 * prior.len() as f64 / 4.0);
    let mut ahead = weights.clone();
    for round in 0..STEPS {
        let slope = gradient(systems, &ahead);
        let mut next = Vec::with_capacity(weights.len());
        for ((at, slope), prior) in ahead.iter().zip(slope).zip(prior) {
            let moved = at - step * (slope + strength * (at - prior));
            next.push(if *prior < 0.0 { moved.min(0.0) } else { moved.max(0.0) });
        }
        // Nesterov's acceleration.
        let push = round as f64 / (round as f64 + 3.0);
        ahead = next.iter().zip(&weights).map(|(new, old)| new + push * (new - old)).collect();
        weights = next;
    }
    weights
}

/// The sum of an entity.
pub(super) fn sum(weights: &[f64], values: &[f64]) -> f64 {
    weights.iter().zip(values).map(|(weight, value)| weight * value).sum()
}

/// The gradient of the mean negative log-likelihood.
fn gradient(systems: &[&System], weights: &[f64]) -> Vec<f64> {
    let mut slope = vec![0.0; weights.len()];
    for system in systems {
        let share = 1.0 / (systems.len() * system.incidents.len().max(1)) as f64;
        for incident in &system.incidents {
            let sums: Vec<f64> = incident.values.iter().map(|it| sum(weights, it)).collect();
            let most = sums.iter().copied().fold(f64::MIN, f64::max);
            let odds: Vec<f64> = sums.iter().map(|sum| (sum - most).exp()).collect();
            let all: f64 = odds.iter().sum();
            let causes = (0..incident.entities.len()).filter(|at| incident.is_cause(*at)).count();
            for (place, values) in incident.values.iter().enumerate() {
                let wanted = if incident.is_cause(place) { 1.0 / causes as f64 } else { 0.0 };
                let off = share * (odds[place] / all - wanted);
                for (slope, value) in slope.iter_mut().zip(values) {
                    *slope += off * value;
                }
            }
        }
    }
    slope
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use eog::EntityId;

    use super::super::instances::{Incident, System};
    use super::*;

    /// Incidents of two entities; the first value of the cause is 1 in `right` of `all`.
    fn system(right: usize, all: usize) -> System {
        let id = |name: &str| EntityId::new(name).unwrap();
        let incident = |number: usize| {
            let cause = if number < right { "a" } else { "b" };
            Incident {
                entities: vec![id("a"), id("b")],
                values: vec![vec![1.0, 0.5], vec![0.0, 0.5]],
                causes: BTreeSet::from([id(cause)]),
            }
        };
        System { name: "s".into(), incidents: (0..all).map(incident).collect() }
    }

    #[test]
    fn without_shrinkage_it_finds_the_log_odds() {
        let weights = fit(&[&system(9, 10)], &[0.1, 0.1], Shrinkage(1e-6));
        assert!((weights[0] - 9.0_f64.ln()).abs() < 1e-2, "{weights:?}");
        assert!((weights[1] - 0.1).abs() < 1e-3, "a term without information stays at its prior");
    }

    #[test]
    fn shrinkage_draws_to_the_prior_and_signs_hold() {
        let drawn = fit(&[&system(9, 10)], &[0.1, 0.1], Shrinkage(10.0));
        assert!(drawn[0] > 0.1 && drawn[0] < 0.3, "{drawn:?}");
        let held = fit(&[&system(1, 10)], &[0.1, 0.1], Shrinkage(1e-6));
        assert_eq!(held[0], 0.0, "a weight keeps its sign");
    }
}
