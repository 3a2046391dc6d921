//! What the controller costs: opening an investigation, and each commit, by the size of the graph.

mod world;

use divan::Bencher;
use divan::counter::ItemsCount;
use eog_core::controller::Order;
use eog_core::{Config, Controller};

const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Commits of one sample: fewer than the smallest graph gives.
const COMMITS: u64 = 500;

fn main() {
    divan::main();
}

/// `Controller::new`: the case becomes entry 0 of the ledger.
#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn opening(bencher: Bencher, entities: usize) {
    let case = world::incident(entities);
    bencher
        .counter(ItemsCount::new(entities))
        .with_inputs(|| case.clone())
        .bench_local_values(|case| Controller::new(world::unlimited(Config::default()), case));
}

/// 500 commits from the opening on: context and decision in, entry out.
#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1)]
fn commits_fifo(bencher: Bencher, entities: usize) {
    commits(bencher, entities, Config::default());
}

/// The same with `Order::Priority`.
#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1)]
fn commits_priority(bencher: Bencher, entities: usize) {
    commits(bencher, entities, Config { order: Order::Priority, ..Config::default() });
}

/// The same as Algorithm 1 of the paper has it.
#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1)]
fn commits_paper(bencher: Bencher, entities: usize) {
    commits(bencher, entities, Config::paper());
}

fn commits(bencher: Bencher, entities: usize, config: Config) {
    let opened = Controller::new(world::unlimited(config), world::incident(entities));
    bencher.counter(ItemsCount::new(COMMITS)).with_inputs(|| opened.clone()).bench_local_values(
        |mut controller| {
            world::drive(&mut controller, COMMITS, world::blame_callees);
            assert_eq!(controller.spent().evaluations, COMMITS);
            controller
        },
    );
}
