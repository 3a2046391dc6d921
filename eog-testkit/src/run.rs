//! Running without a runtime: a plain loop over the controller.

use std::task::{Context, Poll, Waker};

use eog::machine::PlainError;
use eog::{
    AbductivePolicy, Answer, BoxFuture, Case, Config, ContextAndPolicy, ContextContract,
    ContextPacket, Controller, Failure, Finished, StopReason,
};

/// Asks a policy about one packet, without any engine. The policy must be ready at once.
///
/// # Errors
/// The policy's own failure.
///
/// # Panics
/// When the policy waits for something; test such a policy in an async test.
///
/// ```
/// use eog::Label;
/// use eog_testkit::{ask, finding, origin, packet, policy_fn};
/// let policy = policy_fn(origin);
/// let answer = ask(&policy, &packet("db").finding(finding("db")).build())?;
/// assert_eq!(answer.decision.label, Label::Origin);
/// # Ok::<(), eog::Failure>(())
/// ```
#[track_caller]
pub fn ask(policy: &impl AbductivePolicy, packet: &ContextPacket) -> Result<Answer, Failure> {
    match ready(policy.decide(packet)) {
        Some(answer) => answer,
        None => panic!(
            "the decision on {} is not ready at once; test a policy that waits with eog::Engine",
            packet.entity
        ),
    }
}

/// Runs a whole investigation in a plain loop: the same controller, rules and ledger as
/// [`eog::Engine`], without a runtime, time-outs or cancellation. Contract and policy must be
/// ready at once. Their panics reach the test; the engine would record them as failures.
///
/// # Panics
/// When a [`PlainError`] occurs; see [`try_run`].
///
/// ```
/// use eog::{Config, Label};
/// use eog_testkit::{MemoryContext, assert_that, healthy, policy_fn, run, seeded, topology};
/// let case = seeded(topology("S1 calls S2"), ["S1"]);
/// let run = run(Config::default(), case, &MemoryContext::default(), &policy_fn(healthy));
/// assert_that(&run).evaluated(["S1"]).ends_with_label("S1", Label::Healthy);
/// ```
#[track_caller]
pub fn run(
    config: Config,
    case: Case,
    contract: &impl ContextContract,
    policy: &impl AbductivePolicy,
) -> Finished {
    match try_run(config, case, contract, policy) {
        Ok(finished) => finished,
        Err(error) => panic!("{error}"),
    }
}

/// Like [`run`], with an error in place of a panic.
///
/// # Errors
/// [`PlainError`] names the entity whose context or decision is not ready at once.
pub fn try_run(
    config: Config,
    case: Case,
    contract: &impl ContextContract,
    policy: &impl AbductivePolicy,
) -> Result<Finished, PlainError> {
    let mut controller = Controller::new(config, case);
    let stop = eog::machine::drive(&mut controller, &ContextAndPolicy { contract, policy })?;
    Ok(Finished::new(stop, controller))
}

/// Drives a controller until it is done. An observation re-opens it; drive it again then.
///
/// # Errors
/// [`PlainError`] names the entity whose context or decision is not ready at once.
///
/// ```
/// use eog::{Config, Input};
/// use eog::ledger::Observation;
/// use eog_testkit::{
///     MemoryContext, alert, assert_that, drive, healthy, policy_fn, run, seeded, topology,
/// };
/// let (contract, policy) = (MemoryContext::default(), policy_fn(healthy));
/// let mut run = run(Config::default(), seeded(topology("S1"), ["S1"]), &contract, &policy);
/// let news = Observation::Anomaly(alert("S2", "HttpErrors", "10:05"));
/// run.machine.handle(Input::Observe(news))?;
/// run.stop = drive(&mut run.machine, &contract, &policy)?;
/// // Nothing explains the alert, so S2 is evaluated again, twice.
/// assert_that(&run).evaluated(["S1", "S2", "S2", "S2"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn drive(
    controller: &mut Controller,
    contract: &impl ContextContract,
    policy: &impl AbductivePolicy,
) -> Result<StopReason, PlainError> {
    eog::machine::drive(controller, &ContextAndPolicy { contract, policy })
}

/// What a future gives at its first poll, if anything.
fn ready<T>(mut future: BoxFuture<'_, T>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
