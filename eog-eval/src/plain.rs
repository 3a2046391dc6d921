//! Investigations in a plain loop, without a runtime: for contracts and policies that answer at
//! once, as those of recorded and simulated incidents do.

use std::task::{Context, Poll, Waker};

use eog::{
    AbductivePolicy, Answer, BoxFuture, Case, Config, ContextContract, Controller, EntityId,
    Finished, Input, InputError, Output,
};

/// Why an investigation cannot be run in a plain loop.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("the context of {0} is not ready at once; eog::Engine investigates sources that wait")]
    ContextPending(EntityId),
    #[error("the decision on {0} is not ready at once; eog::Engine asks policies that wait")]
    PolicyPending(EntityId),
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
    let mut controller = Controller::new(config, case);
    loop {
        let input = match controller.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Fetch { ticket, request } => match ready(contract.get_context(&request)) {
                Some(Ok(context)) => Input::Context(ticket, context),
                Some(Err(failure)) => Input::Failed(ticket, failure.of_contract()),
                None => return Err(RunError::ContextPending(request.entity)),
            },
            Output::Decide { ticket, packet } => match ready(policy.decide(&packet)) {
                Some(Ok(Answer { decision, usage, .. })) => {
                    Input::Decision(ticket, decision, usage)
                }
                Some(Err(failure)) => Input::Failed(ticket, failure.of_policy()),
                None => return Err(RunError::PolicyPending(packet.entity.clone())),
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
