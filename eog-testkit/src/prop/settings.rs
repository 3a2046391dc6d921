//! Drawn settings of the controller.

use std::num::NonZeroU32;

use eog::controller::{Briefing, Concurrency, Damping, Order, Wake, Widening};
use eog::{Budget, Config};
use proptest::prelude::*;

/// Settings under which every investigation ends: [`Config::default`] with other limits and without some of
/// them, and [`Config::paper`] with a visit limit. They shrink towards [`Config::default`].
pub fn configs() -> impl Strategy<Value = Config> {
    let rules = (
        prop::bool::weighted(0.2),
        prop::sample::select(vec![Wake::Contradicted, Wake::AtOdds, Wake::Visited]),
        prop::option::weighted(0.8, prop::option::of(0..3u32)),
        prop::sample::select(vec![Order::Fifo, Order::Priority, Order::Permuted { seed: 11 }]),
        any::<bool>(),
        prop::sample::select(vec![Damping::LastWord, Damping::Absorbing]),
    );
    let limits = (
        prop::option::of(1..5u32),
        0..4u32,
        0..4u32,
        1..10u32,
        0..3u32,
        prop::option::of(0..4u32),
        prop::option::weighted(0.3, 0..30u64),
        1..4u32,
    );
    (rules, limits).prop_map(|(rules, limits)| {
        let (paper, wake, radius, order, decision_memory, damping) = rules;
        let (visits, flip_threshold, max_evidence, max_entities, cooldown, pages, hops, width) =
            limits;
        let ours = Config {
            wake,
            widening: radius.map(|radius| Widening { radius, ..Widening::default() }),
            max_visits: visits,
            flip_threshold,
            max_evidence,
            decision_memory,
            damping,
            briefing: pages.map(|pages| Briefing { pages, ..Briefing::default() }),
            ..Config::default()
        };
        // Without a visit limit the paper's rules have no end.
        let papers = Config { max_visits: Some(visits.unwrap_or(5)), ..Config::paper() };
        let profile = if paper { papers } else { ours };
        let budget = Budget { hops, ..Budget::default() };
        let width = NonZeroU32::MIN.saturating_add(width - 1);
        let concurrency = Concurrency::Window(width);
        Config { order, max_entities, cooldown, budget, concurrency, ..profile }
    })
}
