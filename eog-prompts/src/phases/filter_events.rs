//! Which events are relevant to the incident.

use super::filter::{FilterAnswer, FilterInput, pick_problems};
use crate::Phase;

/// Picks the events that are relevant to the incident, page by page.
#[derive(Clone, Copy, Debug)]
pub struct FilterEvents;

impl Phase for FilterEvents {
    const NAME: &'static str = "filter_events";
    type Input = FilterInput;
    type Answer = FilterAnswer;

    fn problems(input: &FilterInput, answer: &FilterAnswer) -> Vec<String> {
        pick_problems(input, answer)
    }
}
