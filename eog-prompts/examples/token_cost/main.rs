//! Tokens per investigation, eog against the paper's behaviour. docs/performance.md explains.
//!
//! ```text
//! cargo run -p eog-prompts --example token_cost -- [--generated COUNT] [--entities COUNT] [SNAPSHOT…]
//! ```

mod cost;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cost::{
    Failed, Origin, TOKENIZER, bottling_line, fixed_tokens, flash_sale, generated, recorded,
};
use table::{Row, print_around, print_costs, print_parts};

/// What the paper's tokens may shrink to, in per cent.
const TARGET: f64 = 40.0;

const USAGE: &str = "usage: token_cost [--generated COUNT] [--entities COUNT] [SNAPSHOT…]";

fn main() -> ExitCode {
    match report() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("token_cost: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Options {
    generated: u64,
    entities: usize,
    snapshots: Vec<PathBuf>,
}

fn options() -> Result<Options, Failed> {
    let mut options = Options { generated: 100, entities: 60, snapshots: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--generated" => options.generated = arguments.next().ok_or(USAGE)?.parse()?,
            "--entities" => options.entities = arguments.next().ok_or(USAGE)?.parse()?,
            option if option.starts_with('-') => return Err(USAGE.into()),
            folder => options.snapshots.push(PathBuf::from(folder)),
        }
    }
    Ok(options)
}

fn report() -> Result<(), Failed> {
    let options = options()?;
    let [paper, ours] = fixed_tokens(&flash_sale()?)?;
    println!(
        "Tokens by {TOKENIZER}. Instructions and schema of one question: {paper} in the paper's \
         manner, {ours} in ours.\n"
    );
    let mut rows = vec![Row::of(&flash_sale()?)?, Row::of(&bottling_line()?)?];
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    let recording = data.join("scenario-2-partial");
    if recording.is_dir() {
        let architecture = data.join("architecture.json");
        rows.push(Row::of(&recorded(&recording, Some(&architecture), Origin::Recorded)?)?);
    } else {
        eprintln!("skipped: no recordings at ../shared/data/itbench beside the workspace");
    }
    for folder in &options.snapshots {
        rows.push(Row::of(&recorded(folder, None, Origin::Simulated)?)?);
    }
    for row in &rows {
        row.agree()?;
    }
    let mut drawn = Row::named(format!("{} generated, simulated", options.generated));
    let mut percents: Vec<f64> = Vec::new();
    for seed in 0..options.generated {
        let row = Row::of(&generated(options.entities, seed)?)?;
        if let Err(difference) = row.agree() {
            eprintln!("left out: {difference}");
            continue;
        }
        percents.push(row.percent());
        drawn.add(&row);
    }
    if options.generated > 0 {
        rows.push(drawn);
    }
    let mut total = Row::named("all");
    rows.iter().for_each(|row| total.add(row));
    rows.push(total);
    print_costs(&rows);
    println!();
    print_parts(&rows);
    println!();
    print_around(&rows);
    percents.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (percents.first(), percents.last()) {
        let median = percents[percents.len() / 2];
        let within = percents.iter().filter(|percent| **percent <= TARGET).count();
        println!(
            "\nGenerated incidents one by one: {least:.1} to {most:.1} %, median {median:.1} %; \
             {within} of {} within {TARGET} %; {} left out, as frontiers differ.",
            percents.len(),
            options.generated - percents.len() as u64
        );
    }
    Ok(())
}
