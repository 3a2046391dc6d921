//! Who answers the questions of a tree search.

mod chain;
mod policy;
mod responder;
mod seeker;
mod specialists;

use std::time::Duration;

use eog_core::BoxFuture;
use eog_core::contract::Failure;
use eog_core::machine::Response;

use crate::ask::{
    CompactAsk, DecomposeAsk, EvaluateAsk, HypothesizeAsk, LaneAsk, PlanAsk, ProgressAsk,
    ProposeAsk, ReactAsk, SteerAsk, StepAsk, WeighAsk,
};
use crate::body::{Action, PlanAction, Verdict};
use crate::chain::ChainAction;
use crate::lane::LaneAction;
use crate::seek::{Goal, Progress, Steering};
use crate::tools::ToolSpec;

pub use policy::{PolicyRoles, PolicyScores};
pub use responder::SearchResponder;

/// What an answer is on its way as.
pub type Reply<'a, T> = BoxFuture<'a, Result<Response<T>, Failure>>;

/// The roles of a tree search beside those that look at entities: each is stateless, and equal questions
/// should get equal answers. Rules play each role that is not implemented ([`PolicyRoles`]): who changes one
/// names one.
///
/// ```
/// use eog_search::ask::EvaluateAsk;
/// use eog_search::{Reply, Roles};
/// struct Mute;
/// impl Roles for Mute {
///     fn reflect<'a>(&'a self, _: &'a EvaluateAsk) -> Reply<'a, String> {
///         Box::pin(async { Ok("nothing is to be learnt".to_owned().into()) })
///     }
/// }
/// ```
pub trait Roles: Send + Sync {
    /// Distinct actions at the end of a path, best first; none where there is nothing left to do.
    ///
    /// # Errors
    /// A [`Failure`] is recorded, and the leaf is given up.
    fn propose<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Vec<Action>> {
        Box::pin(async { PolicyRoles::default().propose(ask).await })
    }

    /// The next action of a simulation; nothing where the trajectory answers.
    ///
    /// # Errors
    /// A [`Failure`] is recorded, and the trajectory ends.
    fn act<'a>(&'a self, ask: &'a ProposeAsk) -> Reply<'a, Option<Action>> {
        Box::pin(async { PolicyRoles::default().act(ask).await })
    }

    /// How good a path is.
    ///
    /// # Errors
    /// A [`Failure`] is recorded; it is asked again as often as the configuration says.
    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        Box::pin(async { PolicyRoles::default().evaluate(ask).await })
    }

    /// What to do with a tree.
    ///
    /// # Errors
    /// A [`Failure`] is recorded; it is asked again as often as the configuration says.
    fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>> {
        Box::pin(async { PolicyRoles::default().plan(ask).await })
    }

    /// What is to be learnt from a trajectory that was not accepted.
    ///
    /// # Errors
    /// A [`Failure`] is recorded, and nothing is learnt.
    fn reflect<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, String> {
        Box::pin(async { PolicyRoles::default().reflect(ask).await })
    }

    /// Hypotheses at the root, or below one that was investigated, the most plausible first.
    ///
    /// # Errors
    /// A [`Failure`] is recorded. Without first hypotheses the search ends; others just have no children.
    fn hypothesize<'a>(&'a self, ask: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        Box::pin(async { PolicyRoles::default().hypothesize(ask).await })
    }

    /// What a specialist does next: it calls one of the tools that it is offered, records findings
    /// ([`LaneAction::record`]), or finishes ([`LaneAction::finish`]).
    ///
    /// # Errors
    /// A [`Failure`] is recorded and counts as a call; after several in a row the lane ends.
    fn investigate<'a>(&'a self, ask: &'a LaneAsk, tools: &'a [ToolSpec]) -> Reply<'a, LaneAction> {
        Box::pin(async { PolicyRoles::default().investigate(ask, tools).await })
    }

    /// How well the evidence supports a hypothesis, with the findings that the score rests on and what is
    /// missing.
    ///
    /// # Errors
    /// A [`Failure`] is recorded; it is asked again as often as the configuration says.
    fn weigh<'a>(&'a self, ask: &'a WeighAsk) -> Reply<'a, Verdict> {
        Box::pin(async { PolicyRoles::default().weigh(ask).await })
    }

    /// Goals with alternative paths.
    ///
    /// # Errors
    /// A [`Failure`] is recorded; it is asked again as often as the configuration says, then the search ends.
    fn decompose<'a>(&'a self, ask: &'a DecomposeAsk) -> Reply<'a, Vec<Goal>> {
        Box::pin(async { PolicyRoles::default().decompose(ask).await })
    }

    /// A move on each active goal, from value, uncertainty and risk in words.
    ///
    /// # Errors
    /// A [`Failure`] is recorded; it is asked once more, then the least selected paths go on.
    fn steer<'a>(&'a self, ask: &'a SteerAsk) -> Reply<'a, Steering> {
        Box::pin(async { PolicyRoles::default().steer(ask).await })
    }

    /// The next look of a path; nothing where there is nothing left to do, which closes it.
    ///
    /// # Errors
    /// A [`Failure`] is recorded, and the path makes no step in this round.
    fn step<'a>(&'a self, ask: &'a StepAsk) -> Reply<'a, Option<Action>> {
        Box::pin(async { PolicyRoles::default().step(ask).await })
    }

    /// What came of a round: facts, candidate answers, how far goals are, what is kept at branches, what
    /// changes in the plan.
    ///
    /// # Errors
    /// A [`Failure`] is recorded; it is asked again as often as the configuration says, then nothing is
    /// learnt from the round.
    fn progress<'a>(&'a self, ask: &'a ProgressAsk) -> Reply<'a, Progress> {
        Box::pin(async { PolicyRoles::default().progress(ask).await })
    }

    /// What the agent of a chain does next: it looks, calls one of the tools that it is offered, or concludes.
    ///
    /// # Errors
    /// A [`Failure`] is recorded; it is asked again as often as the configuration says, then the chain ends.
    fn react<'a>(&'a self, ask: &'a ReactAsk, tools: &'a [ToolSpec]) -> Reply<'a, ChainAction> {
        Box::pin(async { PolicyRoles::default().react(ask, tools).await })
    }

    /// What the oldest steps of a chain came to, for an agent who will not see them any more.
    ///
    /// # Errors
    /// A [`Failure`] is recorded; it is asked again as often as the configuration says, then they are forgotten.
    fn compact<'a>(&'a self, ask: &'a CompactAsk) -> Reply<'a, String> {
        Box::pin(async { PolicyRoles::default().compact(ask).await })
    }

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

    fn hypothesize<'a>(&'a self, ask: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        (**self).hypothesize(ask)
    }

    fn investigate<'a>(&'a self, ask: &'a LaneAsk, tools: &'a [ToolSpec]) -> Reply<'a, LaneAction> {
        (**self).investigate(ask, tools)
    }

    fn weigh<'a>(&'a self, ask: &'a WeighAsk) -> Reply<'a, Verdict> {
        (**self).weigh(ask)
    }

    fn decompose<'a>(&'a self, ask: &'a DecomposeAsk) -> Reply<'a, Vec<Goal>> {
        (**self).decompose(ask)
    }

    fn steer<'a>(&'a self, ask: &'a SteerAsk) -> Reply<'a, Steering> {
        (**self).steer(ask)
    }

    fn step<'a>(&'a self, ask: &'a StepAsk) -> Reply<'a, Option<Action>> {
        (**self).step(ask)
    }

    fn progress<'a>(&'a self, ask: &'a ProgressAsk) -> Reply<'a, Progress> {
        (**self).progress(ask)
    }

    fn react<'a>(&'a self, ask: &'a ReactAsk, tools: &'a [ToolSpec]) -> Reply<'a, ChainAction> {
        (**self).react(ask, tools)
    }

    fn compact<'a>(&'a self, ask: &'a CompactAsk) -> Reply<'a, String> {
        (**self).compact(ask)
    }

    fn timeout(&self) -> Option<Duration> {
        (**self).timeout()
    }
}
