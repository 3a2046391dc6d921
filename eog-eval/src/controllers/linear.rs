//! A model of a linear loop that looks, notes and goes on.

use std::fmt;

use eog::{EntityId, Label};
use serde::Serialize;

use super::notes::Notes;
use super::scene::{Outcome, Scene};
use crate::error::EvalError;

/// A linear loop in the manner of ReAct: one entity after the other, nothing looked at twice on
/// purpose. A model of such a loop, no language model.
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

    pub(super) fn investigate(&self, scene: &Scene<'_>) -> Result<Outcome, EvalError> {
        let alerts: Vec<EntityId> =
            scene.alerts().into_iter().map(|alert| alert.entity.clone()).collect();
        let (mut repeats, mut order) = (scene.stream("repeats"), scene.stream("leads"));
        let mut notes = Notes::new(self.memory);
        let mut calls = 0;
        while calls < self.steps {
            let again = notes.latest().filter(|_| repeats.chance(self.repeats)).cloned();
            if let Some((entity, decision)) = again {
                // The same question has the same answer.
                notes.add(entity, decision);
                calls += 1;
                continue;
            }
            let mut candidates = notes.leads();
            let unseen = alerts.iter().filter(|alert| !notes.knows(alert));
            candidates.extend(unseen.cloned());
            scene.order.sort(&mut candidates, |candidate| scene.distance(candidate), &mut order);
            let Some(entity) = candidates.into_iter().next() else { break };
            let decision = scene.look(&entity, notes.inbox(&entity))?;
            calls += 1;
            if self.commits && decision.label == Label::Origin {
                return Ok(Outcome { named: [entity].into(), calls });
            }
            notes.add(entity, decision);
        }
        Ok(Outcome { named: notes.origins(), calls })
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
