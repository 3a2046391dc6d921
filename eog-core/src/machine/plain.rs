//! Driving a machine in a plain loop, without a runtime.

use std::task::{Context, Poll, Waker};

use crate::ids::EntityId;
use crate::machine::Machine;
use crate::machine::exchange::{Input, InputError, Output};
use crate::machine::question::{Question, QuestionKind};
use crate::machine::responder::Responder;
use crate::stop::StopReason;

/// Drives a machine until it is done: the ledger is that of any other driver, but nothing waits, is
/// tried again or times out, and a panic goes through. For responders that answer at once, such as
/// those of tests and simulations. An observation re-opens the investigation; drive it again then.
///
/// # Errors
/// [`PlainError`] names the question whose answer is not ready at once.
///
/// ```
/// use eog_core::{Case, Config, ContextAndPolicy, Controller, Decision, EntityId, InMemoryContext, Label, Machine, Seed, StopReason, Topology, Window, policy_fn};
/// use eog_core::machine::drive;
/// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// # let mut case = Case::from_anomalies(Topology::default(), window, vec![]);
/// # case.seeds.push(Seed { entity: EntityId::new("cart")?, reason: "a hunch".into() });
/// let contract = InMemoryContext::default();
/// let policy = policy_fn(|_| Decision::new(Label::Healthy, "nothing unusual"));
/// let mut controller = Controller::open(Config::default(), case);
/// let stop = drive(&mut controller, &ContextAndPolicy { contract, policy })?;
/// assert_eq!(stop, StopReason::Converged { refused_wakes: 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn drive<M: Machine>(
    machine: &mut M,
    responder: &impl Responder<M::Question>,
) -> Result<StopReason, PlainError> {
    loop {
        let input = match machine.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question } => {
                let mut answer = responder.respond(&question);
                match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(Ok(it)) => Input::Answer(ticket, it.answer, it.usage),
                    Poll::Ready(Err(failure)) => Input::Failed(ticket, failure),
                    Poll::Pending => {
                        let (about, kind) = (question.key().clone(), question.kind());
                        return Err(PlainError::NotReady { about, kind });
                    }
                }
            }
            Output::Done(stop) => return Ok(stop),
            Output::Idle => return Err(PlainError::Stalled),
        };
        machine.handle(input)?;
    }
}

/// Why a machine cannot be driven in a plain loop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlainError {
    /// An answer is not there at once.
    #[error(
        "the {} on {about} is not ready at once; drive sources and policies that \
         wait with eog::Engine", what(*kind)
    )]
    NotReady {
        /// What the question is about.
        about: EntityId,
        /// The recipient.
        kind: QuestionKind,
    },
    /// The machine refused an input.
    #[error("the controller refused an input: {0}")]
    Refused(#[from] InputError),
    /// The machine waits although everything was answered.
    #[error(
        "the controller waits although every question was answered; was it given with questions \
         under way?"
    )]
    Stalled,
}

fn what(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Context => "context",
        QuestionKind::Policy => "decision",
    }
}
