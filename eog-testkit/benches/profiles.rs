//! Policy calls of the recommended configuration against the paper's, on the same generated
//! incidents, and which of the two is right where they disagree.
//!
//!     cargo bench -p eog-testkit --bench profiles -- [INCIDENTS] [ENTITIES]
//!
//! Counts, not times: the table is the same on every machine.

use std::collections::BTreeSet;
use std::process::ExitCode;

use eog::{AbductivePolicy, Config, EntityId, Finished};
use eog_testkit::sim::{Erring, Rewording};
use eog_testkit::truth::{InvalidSpec, Shape, TruthGraph, TruthPolicy, TruthSpec};
use eog_testkit::{PlainError, try_run};

const USAGE: &str = "usage: profiles [INCIDENTS] [ENTITIES], such as: profiles 1000 60";

/// What a row is about: a policy for one incident.
type Row = (&'static str, fn(u64) -> Box<dyn AbductivePolicy>);

const ROWS: [Row; 4] = [
    ("right", |_| Box::new(TruthPolicy)),
    ("right, rewording", |_| Box::new(Rewording::new(TruthPolicy))),
    ("wrong in 10 %", |seed| Box::new(Erring::new(TruthPolicy, 0.1, seed))),
    ("wrong in 10 %, rewording", |seed| {
        Box::new(Rewording::new(Erring::new(TruthPolicy, 0.1, seed)))
    }),
];

#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{0:?} is not a number of 1 or more; {USAGE}")]
    Argument(String),
    #[error("{0} arguments are too many; {USAGE}")]
    TooMany(usize),
    #[error(transparent)]
    Spec(#[from] InvalidSpec),
    #[error(transparent)]
    Run(#[from] PlainError),
}

fn main() -> ExitCode {
    // `cargo test --benches` calls with `--test`; this is a measurement, not a test.
    if std::env::args().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("{trouble}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), Trouble> {
    let (incidents, entities) = arguments()?;
    let truths: Vec<TruthGraph> = (0..incidents)
        .map(|seed| TruthGraph::generate(&TruthSpec::drawn(entities, seed), seed))
        .collect::<Result<_, _>>()?;
    describe(&truths, entities);
    for (name, policy) in ROWS {
        Tally::of(&truths, policy)?.print(name);
    }
    Ok(())
}

/// Incidents and entities. `cargo bench` adds options of its own, which mean nothing here.
fn arguments() -> Result<(u64, usize), Trouble> {
    let given: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if given.len() > 2 {
        return Err(Trouble::TooMany(given.len()));
    }
    let number = |position: usize, default: u64| match given.get(position) {
        None => Ok(default),
        Some(text) => match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(Trouble::Argument(text.clone())),
        },
    };
    let entities = number(1, 60)?;
    let entities = usize::try_from(entities).map_err(|_| Trouble::Argument(given[1].clone()))?;
    Ok((number(0, 1_000)?, entities))
}

fn describe(truths: &[TruthGraph], entities: usize) {
    let shapes = Shape::ALL.map(|shape| {
        let count = truths.iter().filter(|truth| truth.spec().shape == shape).count();
        format!("{count} {shape:?}")
    });
    let affected = median(truths.iter().map(|truth| {
        truth.entities().filter(|(_, entity)| entity.role.since().is_some()).count() as u64
    }));
    println!("{} incidents of {entities} entities: {}.", truths.len(), shapes.join(", "));
    println!("Median of entities that fail: {affected}. All incidents are counted.\n");
    println!(
        "| policy | calls `default()`: median, total | calls `paper()`: median, total | \
         ratio of totals | median of ratios | frontiers unequal | of these `default()` right | \
         `paper()` right | both wrong | right in all: `default()`, `paper()` | \
         origins without alert: `default()`, `paper()` |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
}

/// One row of the table.
#[derive(Default)]
struct Tally {
    incidents: usize,
    calls: [Vec<u64>; 2],
    right: [usize; 2],
    unlinked: [usize; 2],
    unequal: usize,
    /// Of the unequal: the recommended one right, the paper right, none.
    verdicts: [usize; 3],
}

impl Tally {
    fn of(
        truths: &[TruthGraph],
        policy: fn(u64) -> Box<dyn AbductivePolicy>,
    ) -> Result<Self, Trouble> {
        let mut tally = Self { incidents: truths.len(), ..Self::default() };
        for (seed, truth) in (0_u64..).zip(truths) {
            let policy = policy(seed);
            let expected = truth.linked_origins();
            let mut found = Vec::new();
            for (side, config) in [Config::default(), Config::paper()].into_iter().enumerate() {
                // Both see the same policy; it holds no state.
                let ended = try_run(config, truth.case(), truth, &policy)?;
                let (linked, unlinked) = frontier(&ended);
                tally.calls[side].push(ended.spent().hops);
                tally.right[side] += usize::from(linked == expected);
                tally.unlinked[side] += unlinked;
                found.push(linked);
            }
            if found[0] != found[1] {
                tally.unequal += 1;
                let verdict = found.iter().position(|linked| *linked == expected).unwrap_or(2);
                tally.verdicts[verdict] += 1;
            }
        }
        Ok(tally)
    }

    fn print(&self, name: &str) {
        let total = self.calls.each_ref().map(|calls| calls.iter().sum::<u64>());
        let medians = self.calls.each_ref().map(|calls| median(calls.iter().copied()));
        let ratio = total[0] as f64 / total[1] as f64;
        let mut ratios: Vec<f64> = (self.calls[0].iter().zip(&self.calls[1]))
            .map(|(ours, paper)| *ours as f64 / *paper as f64)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let share = |count: usize| format!("{:.1} %", 100.0 * count as f64 / self.incidents as f64);
        let [ours, paper, none] = self.verdicts;
        println!(
            "| {name} | {}, {} | {}, {} | {ratio:.2} | {:.2} | {} ({}) | {ours} | {paper} | {none} \
             | {}, {} | {}, {} |",
            medians[0],
            total[0],
            medians[1],
            total[1],
            ratios[ratios.len() / 2],
            self.unequal,
            share(self.unequal),
            share(self.right[0]),
            share(self.right[1]),
            self.unlinked[0],
            self.unlinked[1],
        );
    }
}

/// The origins of the frontier that reach an alert, and how many do not: the paper's broadcasts
/// reach all, so it also meets origins that no alert is about.
fn frontier(ended: &Finished) -> (BTreeSet<EntityId>, usize) {
    let (linked, unlinked): (Vec<_>, Vec<_>) =
        ended.conclusion().frontier.into_iter().partition(|group| !group.covers.is_empty());
    let origins = linked.into_iter().flat_map(|group| group.origins).collect();
    (origins, unlinked.into_iter().map(|group| group.origins.len()).sum())
}

/// The upper median.
fn median(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let mut sorted: Vec<u64> = numbers.into_iter().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}
