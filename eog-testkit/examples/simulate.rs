//! Runs the fault simulator over many seeds, or shows what one seed does.
//!
//! ```text
//! cargo run --release -p eog-testkit --example simulate -- --seeds 1000
//! cargo run -p eog-testkit --example simulate -- --reproduce 7
//! ```

use std::process::ExitCode;

use clap::Parser;
use eog_testkit::sim::{Figures, Summary, Violation, mute_drawn_panics, simulate};

/// After how many seeds progress is said.
const STEP: u64 = 100;

/// Simulate investigations under faults, and check every invariant. docs/simulator.md says what is
/// simulated. Exit code 1 means that an invariant is violated.
#[derive(Debug, Parser)]
#[command(name = "simulate")]
struct Options {
    /// How many seeds to simulate
    #[arg(long, default_value_t = 1000, value_name = "COUNT")]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0, value_name = "SEED")]
    from: u64,
    /// Simulate this seed alone, and print its settings and what happens
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seeds", "from"])]
    reproduce: Option<u64>,
    /// Go on after a violation
    #[arg(long)]
    keep_going: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    mute_drawn_panics();
    match options.reproduce {
        Some(seed) => reproduce(seed),
        None => run(&options),
    }
}

fn reproduce(seed: u64) -> ExitCode {
    match simulate(seed) {
        Ok(Summary { story, figures, .. }) => {
            println!("{story}{figures}\nall invariants hold");
            ExitCode::SUCCESS
        }
        Err(violation) => {
            println!("{}\n{violation}", violation.story);
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> ExitCode {
    let mut sum = Figures::default();
    let mut violations: Vec<Violation> = Vec::new();
    let end = options.from.saturating_add(options.seeds);
    for seed in options.from..end {
        match simulate(seed) {
            Ok(summary) => sum += summary.figures,
            Err(violation) => {
                println!("{violation}\n");
                violations.push(*violation);
                if !options.keep_going {
                    return ExitCode::FAILURE;
                }
            }
        }
        let done = seed - options.from + 1;
        if done.is_multiple_of(STEP) || seed + 1 == end {
            eprintln!("{done} of {} seeds, {} violations", options.seeds, violations.len());
        }
    }
    println!("{} seeds: {sum}", options.seeds);
    if violations.is_empty() {
        println!("all invariants hold");
        return ExitCode::SUCCESS;
    }
    let seeds: Vec<String> =
        violations.iter().map(|violation| violation.seed.to_string()).collect();
    println!("{} seeds violate an invariant: {}", violations.len(), seeds.join(", "));
    ExitCode::FAILURE
}
