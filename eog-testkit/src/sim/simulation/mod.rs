//! The simulation: one seed, one plan, several lives of the same incident, all invariants.

pub(super) mod answering;
mod cuts;
pub(super) mod history;
mod life;
pub(super) mod plan;
mod process;

use std::fmt;

use eog::Entry;

use super::invariants::{self, Violation};
use crate::random::RandomSeed;
use answering::Happening;
use history::{End, History, Life};
use plan::Plan;

/// Simulates the incident of a seed in several lives, with the real engine, journal and side file,
/// on virtual time and simulated disks, and checks every invariant.
///
/// `docs/simulator.md` says what is simulated, and what each invariant is. Brings its own tokio
/// runtime, so it must not be called inside one.
///
/// # Errors
/// The first [`Violation`], with the seed, and how to reproduce it.
///
/// ```
/// let summary = eog_testkit::sim::simulate(7)?;
/// assert!(summary.figures.processes > 3);
/// # Ok::<(), Box<eog_testkit::sim::Violation>>(())
/// ```
pub fn simulate(seed: impl Into<RandomSeed>) -> Result<Summary, Box<Violation>> {
    let seed = seed.into();
    let plan = Plan::draw(seed).map_err(|error| Box::new(Violation::of_plan(seed, &error)))?;
    let history = play(plan);
    let summary = Summary::of(&history);
    invariants::check(&history).map_err(|mut violation| {
        violation.story.clone_from(&summary.story);
        violation
    })?;
    Ok(summary)
}

fn play(mut plan: Plan) -> History {
    let (straight, disks) = life::straight(&plan);
    let (delayed, whole) = life::delayed(&plan);
    plan.scale(whole);
    let crashing = life::crashing(&plan);
    let (rough, stage) = life::rough(&plan);
    let healed = life::healed(&plan, &rough, stage);
    let cuts = cuts::everywhere(&plan, &disks);
    History { plan, straight, delayed, crashing, rough, healed, cuts }
}

/// What a simulation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// What everything was derived from.
    pub seed: RandomSeed,
    /// Counts over all lives.
    pub figures: Figures,
    /// The drawn settings and what happened, in words, line by line.
    pub story: String,
}

/// Counts over all lives of a simulation, or over several simulations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Processes that were started.
    pub processes: u64,
    /// Those that died, and those whose journal failed or that could not go on.
    pub interrupted: u64,
    /// Journals that were cut at an offset and taken up again.
    pub cuts: u64,
    /// Entries that were acknowledged.
    pub entries: u64,
    /// Evaluations among them that failed.
    pub failures: u64,
    /// Contexts, decisions and answers outside the loop that were asked for.
    pub calls: u64,
}

impl std::ops::AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.processes += other.processes;
        self.interrupted += other.interrupted;
        self.cuts += other.cuts;
        self.entries += other.entries;
        self.failures += other.failures;
        self.calls += other.calls;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processes, interrupted, cuts, entries, failures, calls } = self;
        write!(
            f,
            "{processes} processes, {interrupted} of them interrupted; {cuts} journals cut and \
             taken up again; {entries} entries stored, {failures} of them failures; {calls} calls"
        )
    }
}

impl Summary {
    fn of(history: &History) -> Self {
        let mut figures = Figures { cuts: history.cuts.len() as u64, ..Figures::default() };
        for process in history.lives().flat_map(|life| &life.processes) {
            figures.processes += 1;
            let went_through = matches!(process.end, End::Finished { journal_failed: false, .. });
            figures.interrupted += u64::from(!went_through);
            figures.entries += process.stored().count() as u64;
            figures.failures += process.stored().filter(|entry| is_failure(entry)).count() as u64;
            figures.calls += process.count(|happening| {
                matches!(
                    happening,
                    Happening::Fetched { .. }
                        | Happening::Decided { .. }
                        | Happening::OutsideAsked(_)
                )
            });
        }
        let lives = [
            &history.straight,
            &history.delayed,
            &history.crashing,
            &history.rough,
            &history.healed,
        ];
        let mut story = format!("{}\n", history.plan);
        for life in lives {
            describe(life, &mut story);
        }
        for life in [&history.straight, &history.rough] {
            if let Some((controller, _)) = life.last() {
                let entries = crate::render::render(controller.ledger());
                story.push_str(&format!("\nentries of {}:\n{entries}", life.name));
            }
        }
        story.push_str(&format!("\nthe straight life was cut at {} places\n", history.cuts.len()));
        Self { seed: history.plan.seed, figures, story }
    }
}

fn describe(life: &Life, story: &mut String) {
    for (number, process) in (1..).zip(&life.processes) {
        story.push_str(&format!("{}, process {number}: {process}\n", life.name));
    }
}

fn is_failure(entry: &Entry) -> bool {
    let answer = entry.evaluation().map(|evaluation| &evaluation.answer);
    matches!(answer, Some(eog::ledger::RecordedAnswer::Failed(_)))
}
