//! Resident memory for each entity of the topology, and for each committed evaluation.

mod world;

use std::hint::black_box;

use eog_core::{Config, Controller};

const ENTITIES: usize = 1_000_000;
const EVALUATIONS: u64 = 100_000;

fn main() {
    // `cargo test --benches` calls with `--test`; this is a measurement, not a test.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let Some(before) = resident_pages() else {
        eprintln!("no /proc/self/statm here: resident memory is not measured");
        return;
    };
    let names: Vec<_> = (0..ENTITIES).map(world::name).collect();
    let named = resident_pages().unwrap_or(before);
    report("names alone", named - before, ENTITIES);
    black_box(&names);
    drop(names);

    let before = resident_pages().unwrap_or(before);
    let case = world::incident(ENTITIES);
    let built = resident_pages().unwrap_or(before);
    report("topology with two calls from each entity", built - before, ENTITIES);
    let mut controller = Controller::new(world::unlimited(Config::default()), case);
    let opened = resident_pages().unwrap_or(built);
    report("open controller, topology included", opened - before, ENTITIES);
    world::drive(&mut controller, EVALUATIONS, world::blame_callees);
    let driven = resident_pages().unwrap_or(opened);
    report("evaluations, ledger included", driven - opened, EVALUATIONS as usize);
    black_box(&controller);
}

fn report(what: &str, pages: usize, count: usize) {
    let bytes = pages * 4096;
    println!("{what}: {} MiB, {} bytes for each of {count}", bytes >> 20, bytes / count);
}

/// Resident pages of this process, of 4 KiB.
fn resident_pages() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split_whitespace().nth(1)?.parse().ok()
}
