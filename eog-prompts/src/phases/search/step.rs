//! The next evaluation of a path.

use eog_core::EntityId;
use eog_search::ask::StepAsk;
use eog_search::{Action, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deed::Deeds;
use super::empty;
use super::goals::{FactLine, GoalLine, Goals, PathLine};
use super::investigate::{ToolLine, tool_line};
use super::path::{Detail, EvaluationLine, Writer};
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
    /// The last evaluations of the path.
    path: Vec<EvaluationLine>,
    neighbours: Vec<NeighbourLine>,
    been: Vec<String>,
    given_up: Vec<String>,
    elsewhere: Vec<String>,
    facts: Vec<FactLine>,
    tools: Vec<ToolLine>,
    #[serde(skip)]
    deeds: Deeds,
}

impl StrideInput {
    /// The input for a question of a search, with the tools that are offered.
    pub fn new(ask: &StepAsk, tools: &[ToolSpec], detail: Detail) -> Self {
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
            tools: tools.iter().map(tool_line).collect(),
            deeds: Deeds::new(writer.named(), &ask.scene, &ask.path.recent, tools)
                .besides([&ask.been[..], &ask.given_up].concat()),
        }
    }
}

/// A look, or a call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StrideAnswer {
    /// name of the entity; null for a call, or if nothing on this path promises more, which closes it
    pub entity: Option<String>,
    /// call: name of the tool; else empty
    #[serde(default)]
    pub tool: String,
    /// call: its arguments, a JSON object as text; else empty
    #[serde(default)]
    pub with: String,
    /// why, in one sentence
    pub why: String,
}

impl StrideAnswer {
    /// The action of an answer without problems.
    pub fn action(&self, input: &StrideInput) -> Option<Action> {
        self.deed(input)?.ok()
    }

    fn deed(&self, input: &StrideInput) -> Option<Result<Action, String>> {
        let ends = self.entity.is_none() && self.tool.trim().is_empty();
        let entity = self.entity.as_deref().unwrap_or_default();
        (!ends).then(|| input.deeds.read(entity, (&self.tool, &self.with), &self.why))
    }
}

impl Phase for Stride {
    const NAME: &'static str = "search_step";
    type Input = StrideInput;
    type Answer = StrideAnswer;

    fn problems(input: &StrideInput, answer: &StrideAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(Err(reason)) = answer.deed(input) {
            let field = if answer.tool.trim().is_empty() { "entity" } else { "tool" };
            problems.push(format!("{field}: {reason}"));
        }
        empty("why", &answer.why, &mut problems);
        problems
    }
}
