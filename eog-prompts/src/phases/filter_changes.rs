//! Which changes are relevant to the incident.

use super::filter::{FilterAnswer, FilterInput, pick_problems};
use crate::Phase;

/// Picks the changes that are relevant to the incident, page by page.
#[derive(Clone, Copy, Debug)]
pub struct FilterChanges;

impl Phase for FilterChanges {
    const NAME: &'static str = "filter_spec_changes";
    type Input = FilterInput;
    type Answer = FilterAnswer;

    fn problems(input: &FilterInput, answer: &FilterAnswer) -> Vec<String> {
        pick_problems(input, answer)
    }
}
