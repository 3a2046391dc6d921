//! The next look of a simulation, or its end.

use eog_search::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ProposeInput;
use super::empty;
use crate::Phase;

/// Chooses the one next look after a path, or ends it.
#[derive(Clone, Copy, Debug)]
pub struct Act;

/// The next look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActAnswer {
    /// name of the entity to look at; null if the path explains the alerts, or leads no further
    pub entity: Option<String>,
    /// one sentence
    pub why: String,
}

impl ActAnswer {
    /// The action of an answer without problems; nothing where the path ends.
    pub fn action(&self, input: &ProposeInput) -> Option<Action> {
        input.look(self.entity.as_deref()?, &self.why).ok()
    }
}

impl Phase for Act {
    const NAME: &'static str = "search_act";
    type Input = ProposeInput;
    type Answer = ActAnswer;

    fn problems(input: &ProposeInput, answer: &ActAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(entity) = &answer.entity
            && let Err(reason) = input.look(entity, &answer.why)
        {
            problems.push(format!("entity: {reason}"));
        }
        empty("why", &answer.why, &mut problems);
        problems
    }
}
