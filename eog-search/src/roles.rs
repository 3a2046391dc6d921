//! Roles answer the questions of a tree search.

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

/// The future of an answer.
pub type Reply<'a, T> = BoxFuture<'a, Result<Response<T>, Failure>>;

/// The trait of the roles, each played by rules unless it is implemented, and its implementation for pointers.
macro_rules! roles {
    ($(#[$about:meta])* trait $trait:ident {
        $($(#[$doc:meta])* $role:ident($ask:ty $(, $tools:ident: [$tool:ty])?) -> $answer:ty;)+
    }) => {
        $(#[$about])*
        pub trait $trait: Send + Sync {
            $($(#[$doc])*
            fn $role<'a>(&'a self, ask: &'a $ask $(, $tools: &'a [$tool])?) -> Reply<'a, $answer> {
                Box::pin(async { PolicyRoles::default().$role(ask $(, $tools)?).await })
            })+

            /// How long an answer may take; the default of the engine unless implemented.
            fn timeout(&self) -> Option<Duration> {
                None
            }
        }

        impl<R: $trait + ?Sized> $trait for Box<R> {
            $(fn $role<'a>(&'a self, ask: &'a $ask $(, $tools: &'a [$tool])?) -> Reply<'a, $answer> {
                (**self).$role(ask $(, $tools)?)
            })+

            fn timeout(&self) -> Option<Duration> {
                (**self).timeout()
            }
        }
    };
}

roles! {
    /// The roles of a tree search beside those that evaluate entities: each is stateless, and equal questions
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
    trait Roles {
        /// Distinct actions at the end of a path, best first; none where there is nothing left to do. An action
        /// evaluates an entity or calls one of the tools that are offered.
        ///
        /// # Errors
        /// A [`Failure`] is recorded, and the leaf is given up.
        propose(ProposeAsk, tools: [ToolSpec]) -> Vec<Action>;

        /// The next action of a simulation; nothing where the trajectory answers.
        ///
        /// # Errors
        /// A [`Failure`] is recorded, and the trajectory ends.
        act(ProposeAsk, tools: [ToolSpec]) -> Option<Action>;

        /// How good a path is.
        ///
        /// # Errors
        /// A [`Failure`] is recorded; it is asked again as often as the configuration says.
        evaluate(EvaluateAsk) -> Verdict;

        /// What to do with a tree.
        ///
        /// # Errors
        /// A [`Failure`] is recorded; it is asked again as often as the configuration says.
        plan(PlanAsk) -> Vec<PlanAction>;

        /// What is to be learnt from a trajectory that was not accepted.
        ///
        /// # Errors
        /// A [`Failure`] is recorded, and nothing is learnt.
        reflect(EvaluateAsk) -> String;

        /// Hypotheses at the root, or below one that was investigated, the most plausible first.
        ///
        /// # Errors
        /// A [`Failure`] is recorded. Without first hypotheses the search ends; others just have no children.
        hypothesize(HypothesizeAsk) -> Vec<Action>;

        /// What a specialist does next: it calls one of the tools that it is offered, records findings
        /// ([`LaneAction::record`]), or finishes ([`LaneAction::finish`]).
        ///
        /// # Errors
        /// A [`Failure`] is recorded and counts as a call; after several in a row the lane ends.
        investigate(LaneAsk, tools: [ToolSpec]) -> LaneAction;

        /// How well the evidence supports a hypothesis, with the findings that the score rests on and what is
        /// missing.
        ///
        /// # Errors
        /// A [`Failure`] is recorded; it is asked again as often as the configuration says.
        weigh(WeighAsk) -> Verdict;

        /// Goals with alternative paths.
        ///
        /// # Errors
        /// A [`Failure`] is recorded; it is asked again as often as the configuration says, then the search ends.
        decompose(DecomposeAsk) -> Vec<Goal>;

        /// A move on each active goal, from value, uncertainty and risk in words.
        ///
        /// # Errors
        /// A [`Failure`] is recorded; it is asked once more, then the least selected paths go on.
        steer(SteerAsk) -> Steering;

        /// The next evaluation of a path, or a call of one of the tools that are offered; nothing where there is nothing left to
        /// do, which closes it.
        ///
        /// # Errors
        /// A [`Failure`] is recorded, and the path makes no step in this round.
        step(StepAsk, tools: [ToolSpec]) -> Option<Action>;

        /// What came of a round: facts, candidate answers, how far goals are, what is kept at branches, what
        /// changes in the plan.
        ///
        /// # Errors
        /// A [`Failure`] is recorded; it is asked again as often as the configuration says, then nothing is
        /// learnt from the round.
        progress(ProgressAsk) -> Progress;

        /// What the agent of a chain does next: it evaluates, calls one of the tools that it is offered, or concludes.
        ///
        /// # Errors
        /// A [`Failure`] is recorded; it is asked again as often as the configuration says, then the chain ends.
        react(ReactAsk, tools: [ToolSpec]) -> ChainAction;

        /// What the oldest steps of a chain came to, for an agent who will not see them any more.
        ///
        /// # Errors
        /// A [`Failure`] is recorded; it is asked again as often as the configuration says, then they are forgotten.
        compact(CompactAsk) -> String;
    }
}
