//! What must hold in every simulated incident, one invariant to a file.

mod always_goes_on;
mod bounds;
mod budget_holds;
mod claims_follow_the_ledger;
mod commits_in_dispatch_order;
mod heals;
mod no_call_repeated;
mod nothing_acknowledged_is_lost;
mod replay_is_live;
mod resume_ends_alike;
mod same_bytes;

use std::fmt;

use super::simulation::history::{History, Life};
use crate::random::RandomSeed;
use crate::truth::InvalidSpec;

/// An invariant of the simulation that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct Violation {
    /// What everything was derived from.
    pub seed: RandomSeed,
    /// The invariant: the name of its file.
    pub invariant: &'static str,
    /// In which life of the incident, and where in it.
    pub place: String,
    /// What must hold.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Other invariants that do not hold either.
    pub also: Vec<&'static str>,
    /// The drawn settings and what happened, in words.
    pub story: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, invariant, place, expected, found, also, .. } = self;
        writeln!(f, "seed {seed} violates {invariant} in {place}")?;
        writeln!(f, "  expected: {expected}")?;
        writeln!(f, "  found:    {found}")?;
        if !also.is_empty() {
            writeln!(f, "  violated, too: {}", also.join(", "))?;
        }
        write!(f, "  reproduce: cargo run -p eog-testkit --example simulate -- --reproduce {seed}")
    }
}

impl Violation {
    pub(super) fn of_plan(seed: RandomSeed, error: &InvalidSpec) -> Self {
        Self {
            seed,
            invariant: "plan",
            place: "its plan".to_owned(),
            expected: "an incident that can be made".to_owned(),
            found: error.to_string(),
            also: Vec::new(),
            story: String::new(),
        }
    }
}

/// What an invariant has against a history.
#[derive(Debug)]
struct Finding {
    place: String,
    expected: String,
    found: String,
}

type Checked = Result<(), Finding>;
type Invariant = fn(&History) -> Checked;

impl Finding {
    fn of(life: &Life, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { place: life.name.clone(), expected: expected.into(), found: found.into() }
    }

    fn in_process(
        life: &Life,
        process: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let place = format!("{}, process {}", life.name, process + 1);
        Self { place, expected: expected.into(), found: found.into() }
    }
}

/// Every invariant. Of several that a defect violates, the one that says most comes first.
const ALL: [(&str, Invariant); 11] = [
    ("nothing_acknowledged_is_lost", nothing_acknowledged_is_lost::check),
    ("commits_in_dispatch_order", commits_in_dispatch_order::check),
    ("claims_follow_the_ledger", claims_follow_the_ledger::check),
    ("always_goes_on", always_goes_on::check),
    ("replay_is_live", replay_is_live::check),
    ("same_bytes", same_bytes::check),
    ("resume_ends_alike", resume_ends_alike::check),
    ("no_call_repeated", no_call_repeated::check),
    ("budget_holds", budget_holds::check),
    ("bounds", bounds::check),
    ("heals", heals::check),
];

/// Checks every invariant.
pub(super) fn check(history: &History) -> Result<(), Box<Violation>> {
    let mut first: Option<Box<Violation>> = None;
    for (invariant, check) in ALL {
        let Err(Finding { place, expected, found }) = check(history) else { continue };
        match &mut first {
            Some(first) => first.also.push(invariant),
            None => {
                let (seed, also, story) = (history.plan.seed, Vec::new(), String::new());
                let violation = Violation { seed, invariant, place, expected, found, also, story };
                first = Some(Box::new(violation));
            }
        }
    }
    first.map_or(Ok(()), Err)
}
