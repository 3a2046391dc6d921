//! Explore: what one entity's local evidence means. The abductive policy.

mod answer;
mod bounds;
mod decision;
mod grounding;
mod input;
mod messages;
mod refused;
mod subject;
mod unasked;

pub use answer::{
    ExploreAlternative, ExploreAnswer, ExploreClaim, ExploreProposal, ExploreSearch, SearchedKind,
};
pub use input::ExploreInput;
pub(crate) use unasked::decision as unasked;

use crate::Phase;

/// Judges one entity of an incident: label, claims, and what to evaluate next.
pub struct Explore;

impl Phase for Explore {
    const NAME: &'static str = "explore";
    type Input = ExploreInput;
    type Answer = ExploreAnswer;

    fn problems(input: &ExploreInput, answer: &ExploreAnswer) -> Vec<String> {
        grounding::Grounding::of(input.subject(), answer).refusals
    }

    /// What to evaluate next is a suggestion: a bad one is left out.
    fn worth_asking_again(problems: &[String]) -> bool {
        problems.iter().any(|problem| !refused::is_of_proposal(problem))
    }

    fn without_refused(input: &ExploreInput, answer: &ExploreAnswer) -> Option<ExploreAnswer> {
        refused::without_refused(input.subject(), answer)
    }
}
