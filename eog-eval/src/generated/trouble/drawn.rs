//! Draws the causes of an incident, by stated shares.

use eog_simulate::{RandomSeed, Stream};

use super::{Effect, Trouble, changed, unchanged};
use crate::generated::Kind;
use crate::generated::flow::Timing;
use crate::generated::system::{Role, System};

/// A kind of cause: draws one for a system, or nothing where that cannot have it.
pub(super) type Fault = fn(&System, &mut Stream) -> Option<Trouble>;

/// The share of causes that are no change, where changes are causes at all.
const WITHOUT_CHANGE: f64 = 0.3;

/// The share of changes that are migrations in a pipeline, which has one database for all.
const MIGRATIONS: f64 = 0.6;

/// The share of incidents with two causes, within 5 minutes of each other.
const TWO: f64 = 0.15;

/// The share of causes that take 10 to 25 minutes to their full effect.
const GRADUAL: f64 = 0.2;

/// The share of changes that show 45 to 75 minutes later.
const LATER: f64 = 0.1;

/// So many draws are made of one kind of cause before another one is tried.
const PATIENCE: u64 = 10;

/// What is drawn once for a seed, so that draws that lead to no alert do not shift the shares.
pub(in crate::generated) struct Plan {
    wanted: Vec<Wanted>,
}

/// One cause.
struct Wanted {
    /// Kinds of causes in the order in which they are tried.
    faults: Vec<Fault>,
    is_gradual: bool,
    is_later: bool,
}

impl Plan {
    pub(in crate::generated) fn draw(kind: Kind, without_changes: bool, seed: RandomSeed) -> Self {
        let mut draw = seed.stream("plan");
        let count = if draw.chance(TWO) { 2 } else { 1 };
        let wanted = (0..count).map(|_| Wanted::draw(kind, without_changes, &mut draw)).collect();
        Self { wanted }
    }

    /// The causes of one attempt, or nothing when this system cannot have them.
    pub(in crate::generated) fn troubles(
        &self,
        system: &System,
        timing: Timing,
        attempt: u64,
        seed: RandomSeed,
    ) -> Option<Vec<Trouble>> {
        let mut draw = seed.stream("trouble");
        // After the usual time, and early enough for what comes slowly.
        let (from, span) = (timing.length * 0.47, timing.length * 0.2);
        let shows = (from + span * draw.share()).floor();
        let mut troubles: Vec<Trouble> = Vec::new();
        for wanted in &self.wanted {
            let faults = &wanted.faults;
            let turn = usize::try_from(attempt / PATIENCE).unwrap_or(0) % faults.len();
            let mut trouble = faults[turn](system, &mut draw)?;
            let shows = shows + if troubles.is_empty() { 0.0 } else { 300.0 * draw.share() };
            trouble.at = shows.floor();
            if wanted.is_gradual {
                trouble.ramp = trouble.ramp.max(600.0 + 900.0 * draw.share());
            }
            if wanted.is_later && trouble.change.is_some() {
                trouble.delay = (2_700.0 + 1_800.0 * draw.share()).floor();
                trouble.at -= trouble.delay;
                trouble.group = "an hour later";
            }
            // Two causes are two things: no part twice, and no application with its own instance.
            let group = |part: usize| system.parts[part].group.unwrap_or(part);
            if troubles.iter().any(|other| group(other.part) == group(trouble.part)) {
                return None;
            }
            troubles.push(trouble);
        }
        Some(troubles)
    }
}

impl Wanted {
    fn draw(kind: Kind, without_changes: bool, draw: &mut Stream) -> Self {
        let is_change = !draw.chance(WITHOUT_CHANGE) && !without_changes;
        let all: &[Fault] = if is_change { &changed::FAULTS } else { &unchanged::FAULTS };
        let order = draw.sample(all.len(), all.len());
        let mut faults: Vec<Fault> = order.into_iter().map(|at| all[at]).collect();
        if kind == Kind::Pipeline && is_change && draw.chance(MIGRATIONS) {
            faults.insert(0, changed::migration);
        }
        Self { faults, is_gradual: draw.chance(GRADUAL), is_later: draw.chance(LATER) }
    }
}

/// A cause that shows within 45 seconds and is at its full effect within 20 more; when it begins
/// is filled in later.
pub(super) fn base(part: usize, draw: &mut Stream) -> Trouble {
    let (delay, ramp) = (5.0 + 40.0 * draw.share(), 1.0 + 20.0 * draw.share());
    let (effect, says) = (Effect::Stuck, "internal error");
    Trouble { part, at: 0.0, delay, ramp, effect, change: None, group: "", says }
}

/// How many times as long something takes: 4 to 12.
pub(super) fn many(draw: &mut Stream) -> f64 {
    4.0 + 8.0 * draw.share()
}

/// A part of one of these roles; roles that a system has are as likely as each other.
pub(super) fn pick(system: &System, roles: &[Role], draw: &mut Stream) -> Option<usize> {
    let there: Vec<Vec<usize>> = roles
        .iter()
        .map(|role| system.having(&[*role]))
        .filter(|parts| !parts.is_empty())
        .collect();
    let parts = draw.pick(&there)?;
    draw.pick(parts).copied()
}
