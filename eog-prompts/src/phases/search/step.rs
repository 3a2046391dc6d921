//! The next look of a path.

use eog_core::EntityId;
use eog_search::Action;
use eog_search::ask::StepAsk;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::goals::{FactLine, GoalLine, Goals, PathLine};
use super::path::{Detail, LookLine, Named, Writer};
use super::{empty, kept};
use crate::Phase;
use crate::phases::frame::IncidentLines;
use crate::phases::lines::NeighbourLine;

/// Makes the next step of a path.
#[derive(Clone, Copy, Debug)]
pub struct Stride;

/// A goal, one of its paths, and what it came to.
#[derive(Clone, Debug, Serialize)]
pub struct StrideInput {
    #[serde(flatten)]
    incident: IncidentLines,
    goals: Vec<GoalLine>,
    /// The path that makes the step.
    chosen: Vec<PathLine>,
    /// The last looks of the path.
    path: Vec<LookLine>,
    neighbours: Vec<NeighbourLine>,
    been: Vec<String>,
    given_up: Vec<String>,
    elsewhere: Vec<String>,
    facts: Vec<FactLine>,
    #[serde(skip)]
    named: Named,
    #[serde(skip)]
    done: Vec<EntityId>,
}

impl StrideInput {
    /// The input for a question of a search.
    pub fn new(ask: &StepAsk, detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let goals = Goals { detail, ran: &[], may_return: &[] };
        let path = writer.path(&ask.path.recent);
        let start = &ask.path.approach.start;
        let last = ask.path.recent.last().map_or(start, |seen| seen.action.entity());
        let names = |all: &[EntityId]| all.iter().map(ToString::to_string).collect();
        Self {
            incident: writer.incident(),
            goals: vec![goals.goal(&ask.goal)],
            chosen: vec![goals.path(&ask.path)],
            path,
            neighbours: writer.neighbours(last, &ask.path.recent),
            been: names(&ask.been),
            given_up: names(&ask.given_up),
            elsewhere: names(&ask.elsewhere),
            facts: goals.facts(&ask.facts),
            named: writer.named(),
            done: [&ask.been[..], &ask.given_up].concat(),
        }
    }

    fn look(&self, name: &str, why: &str) -> Result<Action, String> {
        let entity = self.named.resolve(name)?;
        if self.done.contains(&entity) {
            return Err(format!("the path was at {name} already; name another, or null"));
        }
        Ok(Action::look(entity, kept(why)))
    }
}

/// A look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StrideAnswer {
    /// name of the entity; null if nothing on this path promises more, which closes it
    pub entity: Option<String>,
    /// why, in one sentence
    pub why: String,
}

impl StrideAnswer {
    /// The action of an answer without problems.
    pub fn action(&self, input: &StrideInput) -> Option<Action> {
        input.look(self.entity.as_deref()?, &self.why).ok()
    }
}

impl Phase for Stride {
    const NAME: &'static str = "search_step";
    type Input = StrideInput;
    type Answer = StrideAnswer;

    fn problems(input: &StrideInput, answer: &StrideAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(name) = &answer.entity
            && let Err(reason) = input.look(name, &answer.why)
        {
            problems.push(format!("entity: {reason}"));
        }
        empty("why", &answer.why, &mut problems);
        problems
    }
}
