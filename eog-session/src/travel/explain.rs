//! Why an entity has its label.

use std::sync::Arc;

use eog::ledger::RestoreError;
use eog::side::SideError;
use eog::travel::{Again, Explanation, History, Unjudged};
use eog::{CallRecorder, EntityId, Limits, StopReason, Usage};

use super::Read;
use crate::controllers::{AnyFinished, AnyLedger, ControllerName, ended};
use crate::judge::{ForRun, JudgeError, Policies};
use crate::listener::Listener;
use crate::run::{RunError, same_judge};

/// Why an entity has its label, or has none.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explained {
    /// What the ledger records, and what the policy says now.
    pub explanation: Explanation,
    /// Why it was never judged. Nothing if it was.
    pub unjudged: Option<Unjudged>,
    /// The investigation as it stood at the end.
    pub finished: AnyFinished,
}

/// Why nothing can be explained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The controller has no labels that could be explained like this.
    #[error("explain goes with the controller eog, and this is a ledger of the controller {0}")]
    NotOf(ControllerName),
    /// The ledger does not follow by the rules of this program.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The policy is another one than the ledger names, or its answers cannot be used.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<JudgeError> for ExplainError {
    fn from(error: JudgeError) -> Self {
        Self::Run(error.into())
    }
}

/// Explains the label of an entity, calling the policy again. The ledger is read once.
/// What the side file of a journal lacks goes to `unknown`. Where the ledger does not name its policy,
/// none is called ([`Again::JudgeUnknown`]).
///
/// # Errors
/// [`ExplainError`].
pub async fn explain(
    read: &Read,
    entity: &EntityId,
    policies: &dyn Policies,
    listener: Arc<dyn Listener>,
    unknown: impl FnOnce(&SideError),
) -> Result<Explained, ExplainError> {
    let AnyLedger::Eog(ledger) = &read.ledger else {
        return Err(ExplainError::NotOf(read.ledger.controller()));
    };
    same_judge(policies, read.ledger.judge_at(u64::MAX))?;
    let case = read.ledger.case().ok_or(RunError::Empty)?;
    let history = History::follow(ledger, entity)?;
    if read.ledger.judge_at(u64::MAX).is_none() {
        // The chosen policy may be another than the recorded one: its answers explain nothing.
        let mut explanation = history.explain(None, Limits::default()).await;
        explanation.again = Again::JudgeUnknown;
        return Ok(explained(history, explanation, || read.last_stop(unknown)));
    }
    let recorder = CallRecorder::in_memory();
    let run = ForRun::new(&recorder, Usage::default()).with_listener(listener);
    let judge = policies.judge(run)?;
    let policy = judge.policy(case);
    let explanation = history.explain(Some(&*policy), judge.limits()).await;
    judge.check()?;
    Ok(explained(history, explanation, || read.last_stop(unknown)))
}

fn explained(
    history: History<'_>,
    explanation: Explanation,
    last_stop: impl FnOnce() -> Option<StopReason>,
) -> Explained {
    let unjudged = history.unjudged();
    let finished = ended(history.into_controller(), last_stop).into();
    Explained { explanation, unjudged, finished }
}
