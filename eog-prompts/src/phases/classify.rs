//! Which findings of a long context matter.

use super::filter::{FilterAnswer, FilterInput, pick_problems};
use crate::Phase;

/// Sorts the evidence of one entity, chunk by chunk, if it is too long for one prompt.
#[derive(Clone, Copy, Debug)]
pub struct ClassifyEvidence;

impl Phase for ClassifyEvidence {
    const NAME: &'static str = "classify_evidence";
    type Input = FilterInput;
    type Answer = FilterAnswer;

    fn problems(input: &FilterInput, answer: &FilterAnswer) -> Vec<String> {
        pick_problems(input, answer)
    }
}
