//! A model of a linear loop that looks, notes and goes on.

use std::fmt;

use eog::linear::LeadOrder;
use eog::{Budget, LinearConfig};
use serde::Serialize;

use super::order::Exploration;
use super::scene::{Outcome, Scene};
use crate::error::EvalError;
use crate::plain::try_run;

/// A linear loop in the manner of ReAct: one entity after the other, nothing looked at twice on
/// purpose. A model of such a loop, no language model: the machine [`eog::Linear`].
///
/// - It starts at the first alert, follows the newest lead (a claimed cause or a proposal), then
///   older leads, then the other alerts. When nothing is left it ends.
/// - It remembers the last `memory` answers. With an older one it forgets that it looked there, what
///   it saw, and the leads from it. Alerts are never forgotten, for they stand in the task.
/// - What it remembers of others is the inbox of the next question, as if they had sent messages.
///   So it lacks no information that EoG has; what it noted before is never revised.
/// - It answers with the first origin it sees (`commits`), or, at the end, with all that it
///   remembers.
/// - A share of its steps repeats the last question (`repeats`), and fills the memory with the same
///   answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinearLoop {
    /// How many answers it remembers.
    pub memory: usize,
    /// Whether it stops at the first origin.
    pub commits: bool,
    /// The share of steps that repeat the last one.
    pub repeats: f64,
    /// Most steps.
    pub steps: u64,
}

/// It remembers eight answers and commits. It repeats itself in 12 % of its steps, as the paper
/// reports of one model (figure 7(b)). The memory is an assumption: less than what an incident needs,
/// more than one chain.
impl Default for LinearLoop {
    fn default() -> Self {
        Self { memory: 8, commits: true, repeats: 0.12, steps: 60 }
    }
}

impl LinearLoop {
    /// A memory that nothing is lost from, within the steps there are.
    const UNBOUNDED: usize = usize::MAX;

    /// The default, and with its handicaps taken away one after the other.
    pub(super) const ALL: [Self; 3] = [
        Self { memory: 8, commits: true, repeats: 0.12, steps: 60 },
        Self { memory: Self::UNBOUNDED, commits: true, repeats: 0.0, steps: 1_000 },
        Self { memory: Self::UNBOUNDED, commits: false, repeats: 0.0, steps: 1_000 },
    ];

    /// The machine of the library, with what the comparison takes away from it.
    fn config(&self, scene: &Scene<'_>) -> LinearConfig {
        let mut draw = scene.stream("repeats");
        let repeats = (1..self.steps).filter(|_| draw.chance(self.repeats)).collect();
        let ranks = |rank: &dyn Fn(usize) -> u64| {
            let entities = scene.truth.entities().map(|(entity, _)| entity);
            entities.map(|entity| (entity.clone(), rank(scene.distance(entity)))).collect()
        };
        LinearConfig {
            memory: u32::try_from(self.memory).ok(),
            commits: self.commits,
            repeats,
            order: match scene.order {
                Exploration::Usual => LeadOrder::Newest,
                Exploration::Random => LeadOrder::Permuted { seed: scene.stream("leads").bits() },
                Exploration::Favourable => LeadOrder::Ranked(ranks(&|away| away as u64)),
                Exploration::Adverse => LeadOrder::Ranked(ranks(&|away| u64::MAX - away as u64)),
            },
            budget: Budget::hops(scene.budget.map_or(self.steps, |most| most.min(self.steps))),
            ..LinearConfig::default()
        }
    }

    pub(super) fn investigate(&self, scene: &Scene<'_>) -> Result<Outcome, EvalError> {
        let ended = try_run(self.config(scene), scene.case(), scene.truth, scene.oracle)
            .map_err(|error| EvalError::Setting { reason: error.to_string() })?;
        let spent = ended.spent();
        Ok(Outcome::of(&ended, spent.hops + spent.remembered))
    }
}

impl fmt::Display for LinearLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("linear loop")?;
        if self.memory == Self::UNBOUNDED {
            f.write_str(", forgets nothing")?;
        }
        if !self.commits {
            f.write_str(", goes on")?;
        }
        Ok(())
    }
}
