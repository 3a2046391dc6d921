//! What is to be learnt from a path that was not accepted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EvaluateInput, empty, kept};
use crate::Phase;

/// Draws a lesson for later attempts.
#[derive(Clone, Copy, Debug)]
pub struct Reflect;

/// A lesson.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReflectAnswer {
    /// one or two sentences
    pub lesson: String,
}

impl ReflectAnswer {
    /// The lesson as later questions show it.
    pub fn text(&self) -> String {
        kept(&self.lesson)
    }
}

impl Phase for Reflect {
    const NAME: &'static str = "search_reflect";
    type Input = EvaluateInput;
    type Answer = ReflectAnswer;

    fn problems(_input: &EvaluateInput, answer: &ReflectAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        empty("lesson", &answer.lesson, &mut problems);
        problems
    }
}
