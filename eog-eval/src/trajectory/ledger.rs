//! Trajectories of ledgers.

use std::collections::BTreeSet;

use eog::ledger::{Body, Ledger, Look, RecordedAnswer, Refusal, Replay};
use eog::machine::OfMachine;
use eog::{Confidence, Digest, Machine};
use eog_session::controllers::AnyLedger;

use super::{Outcome, Step, Trajectory, search};
use crate::error::EvalError;
use crate::investigation::Investigation;

impl Trajectory {
    /// What an investigation did; `case` names it in errors.
    ///
    /// # Errors
    /// [`EvalError::Case`] if its ledger does not follow by the rules of this program.
    pub(crate) fn of_investigation(ended: &Investigation, case: &str) -> Result<Self, EvalError> {
        let error = |reason| EvalError::Case { case: case.to_owned(), reason };
        Self::of_ledger(&ended.finished.ledger()).map_err(error)
    }

    /// What a ledger of any controller records.
    ///
    /// # Errors
    /// Why the ledger does not follow by the rules of this program.
    pub fn of_ledger(ledger: &AnyLedger) -> Result<Self, String> {
        match ledger {
            AnyLedger::Eog(ledger) => recorded(ledger, |body| body.look().map(evaluation_step)),
            AnyLedger::Linear(ledger) => recorded(ledger, |body| body.look().map(evaluation_step)),
            AnyLedger::Search(ledger) => {
                let mut trajectory = recorded(ledger, search::steps)?;
                trajectory.open_plan = search::open_plan(ledger)?;
                if trajectory.open_plan.is_some() {
                    trajectory.steps.iter_mut().for_each(search::by_agent);
                }
                Ok(trajectory)
            }
        }
    }
}

/// Steps, and what follows from them: when all alerts were explained first, and the answer.
fn recorded<B: Body + OfMachine, S: IntoIterator<Item = Step>>(
    ledger: &Ledger<B>,
    steps: impl Fn(&B) -> S,
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

/// An evaluation as a step: two are equal if they are at the same evidence on the same entity, and the same came of
/// them, even from a cache. One that a message caused is no repetition if another verdict came of it.
pub(super) fn evaluation_step(look: Look<'_>) -> Step {
    let entity = look.entity.to_string();
    let came = match look.answer {
        RecordedAnswer::Decided(_) | RecordedAnswer::Remembered { .. } => Outcome::Answered,
        RecordedAnswer::Failed(_) => Outcome::Semantic,
    };
    let evidence = look.context.map(|context| context.digest);
    let verdict = (came == Outcome::Answered).then(|| look.belief.signature());
    let verdict = verdict.map(|verdict| (verdict.label, verdict.claims));
    let arguments = Digest::of(&(look.entity, evidence, verdict)).to_string();
    let refused = u32::try_from(disobeyed(look)).unwrap_or(u32::MAX);
    Step { entity: Some(entity), came, refused, ..Step::call("policy", "look", arguments) }
}

/// Answers of no use count once, and so does every part that was refused for breaking a rule. What
/// only a bound refused is no disobedience: no policy can know the bounds.
fn disobeyed(look: Look<'_>) -> usize {
    let is_useless = |answer: &RecordedAnswer| matches!(answer, RecordedAnswer::Failed(f) if !f.kind.is_context());
    let breaks_a_rule = |refusal: &&Refusal| {
        matches!(
            refusal,
            Refusal::OriginWithoutLocalEvidence
                | Refusal::TextCut
                | Refusal::UnknownEvidence(_)
                | Refusal::ClaimWithoutEvidence(_)
                | Refusal::ClaimBetweenOthers(_)
                | Refusal::ClaimOnItself(_)
                | Refusal::ClaimOnUnknownEntity(_)
                | Refusal::ProposalUnknown(_)
                | Refusal::ProposalRepeated(_)
        )
    };
    let parts = look.refusals.iter().filter(breaks_a_rule).count();
    parts + usize::from(is_useless(look.answer))
}
