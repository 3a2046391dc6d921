//! Speed changes no result: the ledger is the same under any completion order, and the same with and
//! without asking ahead. On tokio's paused clock; every delay is virtual.

use std::num::NonZeroU32;
use std::time::Duration;

use eog::controller::{Concurrency, Order};
use eog::{Budget, Config, Engine, Finished, Limits, Retry, Speculation, SpeculationFigures};
use eog_testkit::sim::{Delayed, Erring, PolicyRates, Unreliable, World, WorldRates};
use eog_testkit::truth::{TruthGraph, TruthPolicy, TruthSpec};

/// How many seeds are tried; `EOG_SEEDS` says otherwise.
fn seeds() -> std::ops::Range<u64> {
    let seeds = std::env::var("EOG_SEEDS").ok().and_then(|text| text.parse().ok());
    0..seeds.unwrap_or(60)
}

fn width(width: u32) -> NonZeroU32 {
    NonZeroU32::new(width).expect("is not 0")
}

/// How one run differs from another over the same incident.
#[derive(Clone, Copy, Default)]
struct Course {
    /// Derives when each call answers; without one, calls answer at once.
    delays: Option<u64>,
    speculation: Option<u32>,
    calls_at_once: Option<u32>,
}

/// One generated incident with a policy that errs, sources that fail now and then, and settings of
/// all kinds, from one seed. Equal questions get equal answers.
async fn investigate(seed: u64, concurrency: Concurrency, course: Course) -> Finished {
    let entities = 2 + usize::try_from(seed % 23).expect("is small");
    let truth = TruthGraph::generate(&TruthSpec::drawn(entities, seed), seed).expect("a fit spec");
    let config = if seed % 5 == 4 { Config::paper() } else { Config::default() };
    let config = Config {
        concurrency,
        order: match seed % 3 {
            0 => Order::Fifo,
            1 => Order::Priority,
            _ => Order::Permuted { seed },
        },
        budget: Budget { hops: (seed % 4 == 3).then_some(seed % 17), ..Budget::default() },
        ..config
    };
    let case = truth.case();
    let world = World::new(truth, WorldRates::evenly(0.1), seed).steady();
    // A panic is caught like any failure, but writes to the terminal.
    let rates = PolicyRates { panic: 0.0, ..PolicyRates::evenly(0.1) };
    let policy = Erring::new(TruthPolicy, 0.2, seed);
    let policy = Unreliable::new(policy, rates, seed).steady();
    let longest = course.delays.map_or(Duration::ZERO, |_| Duration::from_secs(20));
    let delays = course.delays.unwrap_or_default();
    let calls = course.calls_at_once.and_then(NonZeroU32::new);
    let limits = Limits {
        context_calls: calls,
        policy_calls: calls,
        retry: Retry { attempts: width(2), ..Retry::default() },
        ..Limits::default()
    };
    let contract = Delayed::new(world, longest, delays);
    let engine = Engine::new(contract, Delayed::new(policy, longest, delays)).with_limits(limits);
    let engine = match course.speculation {
        Some(ahead) => engine.with_speculation(Speculation::of(width(ahead))),
        None => engine,
    };
    engine.investigate(config, case).await
}

#[tokio::test(start_paused = true)]
async fn asking_ahead_leaves_no_trace() {
    let mut sum = SpeculationFigures::default();
    for seed in seeds() {
        let sequential = investigate(seed, Concurrency::sequential(), Course::default()).await;
        for ahead in [2, 4, 8, 16] {
            let course = Course {
                delays: Some(seed * 100 + u64::from(ahead)),
                speculation: Some(ahead),
                calls_at_once: (seed % 2 == 1).then_some(3),
            };
            let early = investigate(seed, Concurrency::sequential(), course).await;
            assert_eq!(early.stop, sequential.stop, "seed {seed}, {ahead} ahead");
            assert!(
                early.ledger().to_json_lines() == sequential.ledger().to_json_lines(),
                "seed {seed}: asking {ahead} ahead changes the ledger"
            );
            let spent = early.spent();
            assert_eq!(spent.hops, sequential.spent().hops, "seed {seed}");
            sum.early_calls += early.speculation.early_calls;
            sum.used_calls += early.speculation.used_calls;
            sum.wasted_calls += early.speculation.wasted_calls;
        }
    }
    assert_eq!(sum.early_calls, sum.used_calls + sum.wasted_calls, "{sum:?}");
    assert!(sum.used_calls > 100 && sum.wasted_calls > 10, "hardly anything was early: {sum:?}");
    println!("{sum:?}");
}

#[tokio::test(start_paused = true)]
async fn a_window_leaves_the_trace_of_its_width_alone() {
    let mut differing = 0;
    for seed in seeds() {
        let sequential = investigate(seed, Concurrency::sequential(), Course::default()).await;
        for at_once in [1, 2, 3, 8] {
            let window = Concurrency::Window(width(at_once));
            let run = |delays, speculation| {
                let course = Course { delays, speculation, calls_at_once: None };
                investigate(seed, window, course)
            };
            let in_order = run(None, None).await;
            let shuffled = run(Some(seed * 100 + 1), None).await;
            let other = run(Some(seed * 100 + 2), Some(at_once + 4)).await;
            for another in [&shuffled, &other] {
                assert!(
                    another.ledger().to_json_lines() == in_order.ledger().to_json_lines(),
                    "seed {seed}: the order of answers shows at width {at_once}"
                );
            }
            let bodies = |run: &Finished| {
                let entries = run.ledger().entries().iter().skip(1);
                entries.map(|entry| entry.body.clone()).collect::<Vec<_>>()
            };
            differing += usize::from(bodies(&in_order) != bodies(&sequential));
        }
    }
    assert!(differing > 0, "no width ever mattered, so this test shows nothing");
}
