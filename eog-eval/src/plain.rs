//! Investigations in a plain loop, without a runtime: for contracts and policies that answer at
//! once, as those of recorded and simulated incidents do.

use std::task::{Context, Poll, Waker};

use eog::{
    AbductivePolicy, BoxFuture, Case, Config, ContextAndPolicy, ContextContract, Controller,
    EntityId, Finished, Input, InputError, Output, Question as _, Responder as _,
};

/// Why an investigation cannot be run in a plain loop.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("the answer on {0} is not ready at once; eog::Engine asks those that wait")]
    Pending(EntityId),
    #[error("the controller refused an input: {0}")]
    Refused(#[from] InputError),
    #[error("the controller waits although every question was answered")]
    Stalled,
}

/// Runs an investigation to its end: the rules and the ledger of [`eog::Engine`], but neither
/// time-outs nor retries.
pub(crate) fn try_run(
    config: Config,
    case: Case,
    contract: &impl ContextContract,
    policy: &impl AbductivePolicy,
) -> Result<Finished, RunError> {
    let world = ContextAndPolicy { contract, policy };
    let mut controller = Controller::new(config, case);
    loop {
        let input = match controller.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question } => match ready(world.respond(&question)) {
                Some(Ok(response)) => Input::Answer(ticket, response.answer, response.usage),
                Some(Err(failure)) => Input::Failed(ticket, failure),
                None => return Err(RunError::Pending(question.key().clone())),
            },
            Output::Done(stop) => return Ok(Finished::new(stop, controller)),
            _ => return Err(RunError::Stalled),
        };
        controller.handle(input)?;
    }
}

/// What a future gives at its first poll, if anything.
fn ready<T>(mut future: BoxFuture<'_, T>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
