//! Responders answer the questions of a machine.

use std::time::Duration;

use crate::budget::Usage;
use crate::contract::{BoxFuture, Failure};
use crate::machine::question::Question;

/// Answers the questions of a machine. [`ContextAndPolicy`](crate::ContextAndPolicy) is the one for
/// machines that evaluate entities; a machine with questions of its own comes with a responder.
pub trait Responder<Q: Question>: Send + Sync {
    /// Answers one question.
    ///
    /// # Errors
    /// A [`Failure`] is recorded in the ledger and the investigation goes on.
    fn respond<'a>(
        &'a self,
        question: &'a Q,
    ) -> BoxFuture<'a, Result<Response<Q::Answer>, Failure>>;

    /// How long one attempt at a policy question may take, if the responder overrides the
    /// engine's default; see [`AbductivePolicy::timeout`](crate::AbductivePolicy::timeout).
    fn timeout(&self, _question: &Q) -> Option<Duration> {
        None
    }
}

impl<Q: Question, R: Responder<Q> + ?Sized> Responder<Q> for &R {
    fn respond<'a>(
        &'a self,
        question: &'a Q,
    ) -> BoxFuture<'a, Result<Response<Q::Answer>, Failure>> {
        (**self).respond(question)
    }

    fn timeout(&self, question: &Q) -> Option<Duration> {
        (**self).timeout(question)
    }
}

/// An answer, what it cost and who gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response<A> {
    /// The answer.
    pub answer: A,
    /// What it cost.
    pub usage: Usage,
    /// The author of the answer, such as the name of a model. Operational, like the usage.
    pub model: Option<String>,
    /// Whether it was answered in an earlier run and only looked up now. Operational.
    pub remembered: bool,
}

impl<A> From<A> for Response<A> {
    fn from(answer: A) -> Self {
        Self { answer, usage: Usage::default(), model: None, remembered: false }
    }
}
