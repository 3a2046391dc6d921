//! What it costs to restore a controller, against parsing the lines of its ledger and no more.

mod world;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use eog_core::{Config, Controller, Entry, Ledger};

const EVALUATIONS: u64 = 5_000;

fn main() {
    divan::main();
}

/// serde_json alone: every line becomes an `Entry`.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn parse_lines(bencher: Bencher) {
    let text = ledger().to_json_lines();
    let parse = || text.lines().map(serde_json::from_str).collect::<Result<Vec<Entry>, _>>();
    counted(bencher, &text).bench_local(|| parse().expect("are entries"));
}

/// `Ledger::from_json_lines`: parses, and checks every byte and the chain.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn read_ledger(bencher: Bencher) {
    let text = ledger().to_json_lines();
    counted(bencher, &text).bench_local(|| Ledger::from_json_lines(&text).expect("is a ledger"));
}

/// `Controller::restore` of a ledger in memory: derives every entry again.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn restore(bencher: Bencher) {
    let ledger = ledger();
    counted(bencher, &ledger.to_json_lines())
        .bench_local(|| Controller::restore(&ledger).expect("leads to a controller"));
}

/// The first run itself, with its scripted answers.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn first_run(bencher: Bencher) {
    counted(bencher, &ledger().to_json_lines()).bench_local(ledger);
}

fn counted<'a, 'b>(bencher: Bencher<'a, 'b>, text: &str) -> Bencher<'a, 'b> {
    bencher.counter(BytesCount::of_str(text)).counter(ItemsCount::new(text.lines().count()))
}

fn ledger() -> Ledger {
    let config = world::unlimited(Config::default());
    let mut controller = Controller::new(config, world::incident(10_000));
    world::drive(&mut controller, EVALUATIONS, world::blame_callees);
    controller.ledger().clone()
}
