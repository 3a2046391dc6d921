//! Every bound on evaluations, as a number, against policies and sources that do their worst.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use eog_core::controller::{Concurrency, Widening};
use eog_core::{Budget, Case, Config, Controller, EntityId, Seed, StopReason};
use eog_testkit::check_bounds;
use eog_testkit::prop::parts::{anomaly, edges, name, topology, window};
use eog_testkit::prop::{Adversary, Trick, adversaries, configs, worlds};
use proptest::prelude::*;

use super::cases;
use super::drive::run;

fn case(size: usize, edges: &[(usize, usize, u8)], seeds: &[usize]) -> Case {
    let anomalies = vec![anomaly(name(seeds[0]), 10)];
    let mut case = Case::from_anomalies(topology(size, edges), window(), anomalies);
    let seed = |&seed: &usize| Seed { entity: name(seed), reason: String::new() };
    case.seeds = seeds.iter().map(seed).collect();
    case
}

/// `V`: every entity that was ever activated.
fn activated(controller: &Controller, case: &Case, max_entities: u32) -> BTreeSet<EntityId> {
    let mut all = BTreeSet::new();
    for seed in &case.seeds {
        if all.len() < max_entities as usize {
            all.insert(seed.entity.clone());
        }
    }
    let records = controller.ledger().evaluations().flat_map(|e| &e.activations);
    all.extend(records.filter(|r| r.refused.is_none()).map(|record| record.entity.clone()));
    all
}

fn situations() -> impl Strategy<Value = Case> {
    (1..=6usize).prop_flat_map(|size| {
        (edges(size), prop::collection::vec(0..size, 1..4))
            .prop_map(move |(edges, seeds)| case(size, &edges, &seeds))
    })
}

fn window_of(width: u32) -> Concurrency {
    Concurrency::Window(NonZeroU32::new(width).expect("is not 0"))
}

proptest! {
    #![proptest_config(cases(100))]

    /// Also ends: no run can pass all entities, each joined with all that exist, each changing as often as
    /// the caps let it.
    #[test]
    fn default_without_a_visit_limit_keeps_its_bounds(
        case in situations(),
        adversary in adversaries(),
        config in configs(),
    ) {
        let config = Config { max_visits: None, budget: Budget::default(), ..config };
        prop_assume!(config.change == Config::default().change);
        let (entities, flips) = (u64::from(config.max_entities), u64::from(config.flip_threshold));
        let names = entities + 6;
        let changes = 1 + flips + 1 + u64::from(config.max_evidence);
        let ceiling = entities + entities * changes * names + 5 * entities + 4 * entities;
        let (controller, stop) = run(&config, &case, &mut &adversary, ceiling);
        prop_assert!(stop.is_some_and(StopReason::is_at_rest), "{stop:?}");
        prop_assert_eq!(check_bounds(controller.ledger()), Ok(()));
    }

    #[test]
    fn a_visit_limit_bounds_every_profile(
        case in situations(),
        adversary in adversaries(),
        config in configs(),
        limit in 1..5u32,
    ) {
        let budget = Budget::default();
        let config = Config { max_visits: Some(limit), budget, ..config };
        let ceiling = u64::from(limit + 4) * u64::from(config.max_entities);
        let (controller, stop) = run(&config, &case, &mut &adversary, ceiling);
        prop_assert!(stop.is_some_and(StopReason::is_at_rest), "{stop:?}");
        prop_assert_eq!(check_bounds(controller.ledger()), Ok(()));
    }

    #[test]
    fn hops_bound_what_is_not_remembered(
        case in situations(),
        adversary in adversaries(),
        config in configs(),
        hops in 0..30u64,
    ) {
        let config = Config { max_visits: None, budget: Budget::hops(hops), ..config };
        let (controller, stop) = run(&config, &case, &mut &adversary, 5_000);
        prop_assert!(stop.is_some(), "still running after 5000 evaluations");
        prop_assert_eq!(check_bounds(controller.ledger()), Ok(()));
        let exhausted = matches!(stop, Some(StopReason::BudgetExhausted { .. }));
        prop_assert_eq!(exhausted, controller.active().next().is_some());
        prop_assert!(!exhausted || controller.spent().hops == hops);
    }
}

proptest! {
    #![proptest_config(cases(100))]

    /// An investigation that ends by itself with something unexplained has evaluated all there is
    /// around it.
    #[test]
    fn nothing_near_what_is_unexplained_is_left_unvisited(
        world in worlds(true),
        radius in prop::option::of(0..4u32),
        max_entities in 1..10u32,
        max_visits in prop::option::of(1..6u32),
        width in 1..4u32,
        adversary in adversaries(),
        is_adverse in any::<bool>(),
    ) {
        let config = Config {
            widening: Some(Widening { radius, ..Widening::default() }),
            max_entities,
            max_visits,
            concurrency: window_of(width),
            ..Config::default()
        };
        let (controller, stop) = if is_adverse {
            run(&config, &world.case, &mut &adversary, 5_000)
        } else {
            run(&config, &world.case, &mut &world, 5_000)
        };
        prop_assert!(stop.is_some_and(StopReason::is_at_rest), "{stop:?}");
        let mut evaluated = BTreeSet::new();
        let mut admitted = activated(&controller, &world.case, max_entities);
        for evaluation in controller.ledger().evaluations() {
            evaluated.insert(evaluation.entity.clone());
            let claims = &evaluation.outcome.belief.claims;
            admitted.extend(claims.iter().flat_map(|c| [c.cause.clone(), c.effect.clone()]));
        }
        let is_full = admitted.len() >= max_entities as usize;
        let alerting = |at: usize| controller.anomalies()[at].entity.clone();
        let mut near: BTreeSet<EntityId> =
            controller.conclusion().unexplained.into_iter().map(alerting).collect();
        for _ in 0..radius.unwrap_or(50) {
            let next: Vec<_> = near.iter().flat_map(|e| controller.adjacent(e)).collect();
            near.extend(next);
        }
        for entity in near.difference(&evaluated) {
            prop_assert!(is_full && !admitted.contains(entity), "{entity} was left out");
        }
    }
}

/// Two entities that reword what they say: the paper's rule has no fixed point, ours has one.
#[test]
fn rewording_never_ends_by_the_papers_rule_and_ends_by_ours() {
    let case = case(2, &[(0, 1, 0)], &[0, 1]);
    let ours = Config { max_visits: None, ..Config::default() };
    let adversary = Adversary::new(&[Trick::Reword], 1);
    // |V| + Σ c·deg + 5·|V| with c ≤ 1 + (3 + 1) + 1 finding: 2 + 2 · 6 · 1 + 5 · 2.
    let bound = 2 + 2 * 6 + 5 * 2;
    let (controller, stop) = run(&ours, &case, &mut &adversary, bound);
    assert_eq!(stop, Some(StopReason::Converged { refused_wakes: 0 }));
    assert!(controller.spent().evaluations <= bound);

    let paper = Config { max_visits: None, ..Config::paper() };
    let adversary = Adversary::new(&[Trick::Reword], 1);
    let (controller, stop) = run(&paper, &case, &mut &adversary, 100 * bound);
    assert_eq!(stop, None);
    assert!(controller.spent().evaluations > 100 * bound);
}

/// With the visit limit of B.3 the paper's profile ends on the same policy.
#[test]
fn rewording_ends_by_the_papers_rule_with_its_visit_limit() {
    let case = case(2, &[(0, 1, 0)], &[0, 1]);
    let adversary = Adversary::new(&[Trick::Reword], 1);
    let (controller, stop) = run(&Config::paper(), &case, &mut &adversary, 10);
    assert!(matches!(stop, Some(StopReason::Converged { refused_wakes: 1.. })), "{stop:?}");
    assert_eq!(controller.spent().evaluations, 10);
}
