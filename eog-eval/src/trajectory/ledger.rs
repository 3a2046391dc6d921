//! Trajectories of ledgers.

use std::collections::BTreeSet;

use eog::ledger::{Body, Ledger, Look, RecordedAnswer, Replay};
use eog::machine::OfMachine;
use eog::{Confidence, Machine};
use eog_session::controllers::AnyLedger;

use super::{Outcome, Step, Trajectory, search};
use crate::controller_failures::disobeyed;

impl Trajectory {
    /// What a ledger of any controller records.
    ///
    /// # Errors
    /// Why the ledger does not follow by the rules of this program.
    pub fn of_ledger(ledger: &AnyLedger) -> Result<Self, String> {
        match ledger {
            AnyLedger::Eog(ledger) => told(ledger, |body| body.look().map(looked)),
            AnyLedger::Linear(ledger) => told(ledger, |body| body.look().map(looked)),
            AnyLedger::Search(ledger) => {
                let mut told = told_by(ledger, search::steps)?;
                told.open_plan = search::open_plan(ledger)?;
                if told.open_plan.is_some() {
                    told.steps.iter_mut().for_each(search::by_agent);
                }
                Ok(told)
            }
        }
    }
}

fn told<B: Body + OfMachine>(
    ledger: &Ledger<B>,
    step: impl Fn(&B) -> Option<Step>,
) -> Result<Trajectory, String>
where
    B::Machine: Machine<Body = B>,
{
    told_by(ledger, |body| step(body).into_iter().collect())
}

/// Steps, and what follows from them: when all alerts were explained first, and the answer.
fn told_by<B: Body + OfMachine>(
    ledger: &Ledger<B>,
    steps: impl Fn(&B) -> Vec<Step>,
) -> Result<Trajectory, String>
where
    B::Machine: Machine<Body = B>,
{
    let mut trajectory = Trajectory { explained_after: Some(0), ..Trajectory::default() };
    let mut replay = Replay::<B::Machine>::new(ledger).map_err(|error| error.to_string())?;
    while let Some(entry) = replay.step().map_err(|error| error.to_string())? {
        trajectory.steps.extend(steps(&entry.body));
        if trajectory.explained_after == Some(0)
            && replay.machine().conclusion().unexplained.is_empty()
        {
            let after = u32::try_from(trajectory.steps.len()).unwrap_or(u32::MAX);
            trajectory.explained_after = Some(after);
        }
    }
    let conclusion = replay.machine().conclusion();
    let unexplained = conclusion.unexplained.iter().map(ToString::to_string);
    trajectory.unexplained = Some(unexplained.collect());
    let explaining = || conclusion.frontier.iter().filter(|group| !group.covers.is_empty());
    let named: BTreeSet<String> =
        explaining().flat_map(|group| &group.origins).map(ToString::to_string).collect();
    trajectory.named = named.into_iter().collect();
    trajectory.accepted = explaining().any(|group| group.confidence == Confidence::Confirmed);
    Ok(trajectory)
}

/// A look as a step: two are equal if their packets are.
pub(super) fn looked(look: Look<'_>) -> Step {
    let entity = look.entity.to_string();
    let arguments = look.packet.map_or_else(|| entity.clone(), |packet| packet.to_string());
    let came = match look.answer {
        RecordedAnswer::Decided(_) => Outcome::Answered,
        RecordedAnswer::Remembered { .. } => Outcome::Remembered,
        RecordedAnswer::Failed(_) => Outcome::Semantic,
    };
    let refused = u32::try_from(disobeyed(look)).unwrap_or(u32::MAX);
    Step { entity: Some(entity), came, refused, ..Step::call("policy", "look", arguments) }
}
