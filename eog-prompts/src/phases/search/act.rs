//! The next evaluation of a simulation, or its end.

use eog_search::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ProposeInput;
use super::empty;
use crate::Phase;

/// Chooses the one next evaluation after a path, or ends it.
#[derive(Clone, Copy, Debug)]
pub struct Act;

/// The next look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActAnswer {
    /// name of the entity to look at; null for a call, or if the path explains the alerts, or leads no further
    pub entity: Option<String>,
    /// call: name of the tool; else empty
    #[serde(default)]
    pub tool: String,
    /// call: its arguments, a JSON object as text; else empty
    #[serde(default)]
    pub with: String,
    /// one sentence
    pub why: String,
}

impl ActAnswer {
    /// The action of an answer without problems; nothing where the path ends.
    pub fn action(&self, input: &ProposeInput) -> Option<Action> {
        self.deed(input)?.ok()
    }

    fn deed(&self, input: &ProposeInput) -> Option<Result<Action, String>> {
        let ends = self.entity.is_none() && self.tool.trim().is_empty();
        let entity = self.entity.as_deref().unwrap_or_default();
        (!ends).then(|| input.action(entity, (&self.tool, &self.with), &self.why))
    }
}

impl Phase for Act {
    const NAME: &'static str = "search_act";
    type Input = ProposeInput;
    type Answer = ActAnswer;

    fn problems(input: &ProposeInput, answer: &ActAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(Err(reason)) = answer.deed(input) {
            let field = if answer.tool.trim().is_empty() { "entity" } else { "tool" };
            problems.push(format!("{field}: {reason}"));
        }
        empty("why", &answer.why, &mut problems);
        problems
    }
}
