//! Who answers the questions of a tree search.

mod policy;
mod responder;

use std::time::Duration;

use eog_core::BoxFuture;
use eog_core::contract::Failure;
use eog_core::machine::Response;

use crate::ask::{EvaluateAsk, PlanAsk, ProposeAsk};
use crate::body::{Action, PlanAction, Verdict};

pub use policy::{PolicyRoles, PolicyScores};
pub use responder::SearchResponder;

/// What an answer is on its way as.
pub type Reply<'a, T> = BoxFuture<'a, Result<Response<T>, Failure>>;

/// The roles of a tree search beside those that look at entities: each is stateless, and equal questions
/// should get equal answers.
pub trait Roles: Send + Sync {
    /// Distinct actions at the end of a path, best first; none where there is nothing left to do.
    ///
    /// # Errors
    /// A [`Failure`] is recorded, and the leaf is given up.
    fn propose<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Vec<Action>>;

    /// The next action of a simulation; nothing where the trajectory answers.
    ///
    /// # Errors
    /// A [`Failure`] is recorded, and the trajectory ends.
    fn act<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Option<Action>>;

    /// How good a path is.
    ///
    /// # Errors
    /// A [`Failure`] is recorded; it is asked again as often as the configuration says.
    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict>;

    /// What to do with a tree.
    ///
    /// # Errors
    /// A [`Failure`] is recorded; it is asked again as often as the configuration says.
    fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>>;

    /// What is to be learnt from a trajectory that was not accepted.
    ///
    /// # Errors
    /// A [`Failure`] is recorded, and nothing is learnt.
    fn reflect<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, String>;

    /// How long an answer may take; the default of whoever drives the search unless implemented.
    fn timeout(&self) -> Option<Duration> {
        None
    }
}

/// Whoever stands behind a pointer plays the roles.
impl<R: Roles + ?Sized> Roles for Box<R> {
    fn propose<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Vec<Action>> {
        (**self).propose(ask)
    }

    fn act<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Option<Action>> {
        (**self).act(ask)
    }

    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        (**self).evaluate(ask)
    }

    fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>> {
        (**self).plan(ask)
    }

    fn reflect<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, String> {
        (**self).reflect(ask)
    }

    fn timeout(&self) -> Option<Duration> {
        (**self).timeout()
    }
}
