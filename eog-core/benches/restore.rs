//! What it costs to restore a controller, against parsing the lines of its ledger and no more.

mod world;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use eog_core::controller::Checkpoint;
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
    counted(bencher, &text).bench_local(|| {
        Ledger::<eog_core::controller::EntryBody>::from_json_lines(&text).expect("is a ledger")
    });
}

/// `Controller::restore` of a ledger in memory: derives every entry again.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn restore(bencher: Bencher) {
    let ledger = ledger();
    counted(bencher, &ledger.to_json_lines())
        .bench_local(|| Controller::restore(&ledger).expect("leads to a controller"));
}

/// `Controller::restore_from` a checkpoint in memory, with the last 5 % of the entries after it.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn restore_from_checkpoint(bencher: Bencher) {
    let (ledger, checkpoint) = (ledger(), checkpoint());
    counted(bencher, &ledger.to_json_lines()).bench_local(|| {
        Controller::restore_from(&checkpoint, &ledger).expect("leads to a controller")
    });
}

/// `Controller::checkpoint` after 95 % of the entries, as JSON.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn take_checkpoint(bencher: Bencher) {
    let controller = Controller::restore(&before_the_tail()).expect("leads to a controller");
    let take = || serde_json::to_vec(&controller.checkpoint()).expect("is JSON");
    bencher.counter(BytesCount::new(take().len())).bench_local(take);
}

/// serde_json alone: the bytes of that checkpoint become one again.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn parse_checkpoint(bencher: Bencher) {
    let bytes = serde_json::to_vec(&checkpoint()).expect("is JSON");
    let parse = || serde_json::from_slice::<Checkpoint>(&bytes).expect("is a checkpoint");
    bencher.counter(BytesCount::of_slice(&bytes)).bench_local(parse);
}

/// The first run itself, with its scripted answers.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn first_run(bencher: Bencher) {
    counted(bencher, &ledger().to_json_lines()).bench_local(ledger);
}

fn counted<'a, 'b>(bencher: Bencher<'a, 'b>, text: &str) -> Bencher<'a, 'b> {
    bencher.counter(BytesCount::of_str(text)).counter(ItemsCount::new(text.lines().count()))
}

fn before_the_tail() -> Ledger {
    let ledger = ledger();
    ledger.before(ledger.next_seq() * 95 / 100)
}

fn checkpoint() -> Checkpoint {
    let controller = Controller::restore(&before_the_tail()).expect("leads to a controller");
    controller.checkpoint().expect("nothing was cancelled")
}

fn ledger() -> Ledger {
    let config = world::unlimited(Config::default());
    let mut controller = Controller::new(config, world::incident(10_000));
    world::drive(&mut controller, EVALUATIONS, world::blame_callees);
    controller.ledger().clone()
}
