//! Who answers the questions of a tree search.

mod policy;

use eog_core::BoxFuture;
use eog_core::contract::Failure;
use eog_core::machine::Response;

use crate::ask::{EvaluateAsk, PlanAsk, ProposeAsk};
use crate::body::{Action, PlanAction, Verdict};

pub use policy::{PolicyRoles, PolicyScores};

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
}
