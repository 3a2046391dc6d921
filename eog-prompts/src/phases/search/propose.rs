//! What to evaluate next: several entities, best first.

use eog_search::ask::ProposeAsk;
use eog_search::{Action, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deed::Deeds;
use super::investigate::{ToolLine, tool_line};
use super::path::{Detail, EvaluationLine, LeadLine, Writer};
use super::{empty, kept};
use crate::Phase;
use crate::phases::frame::IncidentLines;
use crate::phases::lines::NeighbourLine;

/// Proposes what to evaluate after a path.
#[derive(Clone, Copy, Debug)]
pub struct Propose;

/// A path, and what stands around its end.
#[derive(Clone, Debug, Serialize)]
pub struct ProposeInput {
    #[serde(flatten)]
    incident: IncidentLines,
    path: Vec<EvaluationLine>,
    /// Where the case says to start, if nothing was evaluated yet.
    seeds: Vec<LeadLine>,
    neighbours: Vec<NeighbourLine>,
    at_most: u32,
    /// What earlier attempts taught.
    lessons: Vec<String>,
    tools: Vec<ToolLine>,
    #[serde(skip)]
    deeds: Deeds,
}

impl ProposeInput {
    /// The input for a question of a search, with the tools that are offered.
    pub fn new(ask: &ProposeAsk, tools: &[ToolSpec], detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let path = writer.path(&ask.path);
        let (seeds, neighbours) = match ask.path.iter().rev().find(|it| it.action.is_done()) {
            None => (writer.seeds(), Vec::new()),
            Some(last) => (Vec::new(), writer.neighbours(last.action.entity(), &ask.path)),
        };
        Self {
            incident: writer.incident(),
            path,
            seeds,
            neighbours,
            at_most: ask.at_most,
            lessons: ask.reflections.iter().map(|text| kept(text)).collect(),
            tools: tools.iter().map(tool_line).collect(),
            deeds: Deeds::new(writer.named(), &ask.scene, &ask.path, tools),
        }
    }

    /// The action of an answer.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn action(
        &self,
        entity: &str,
        call: (&str, &str),
        why: &str,
    ) -> Result<Action, String> {
        self.deeds.read(entity, call, why)
    }
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeAnswer {
    /// best first; empty if nothing is left to do
    pub looks: Vec<ProposedLook>,
}

/// A look at one entity, or a call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedLook {
    /// look: its name; else empty
    pub entity: String,
    /// call: name of the tool; else empty
    #[serde(default)]
    pub tool: String,
    /// call: its arguments, a JSON object as text; else empty
    #[serde(default)]
    pub with: String,
    /// what could be found there, in one sentence
    pub why: String,
}

impl ProposeAnswer {
    /// The actions of an answer without problems.
    pub fn actions(&self, input: &ProposeInput) -> Vec<Action> {
        self.looks.iter().filter_map(|it| it.action(input).ok()).collect()
    }
}

impl ProposedLook {
    fn action(&self, input: &ProposeInput) -> Result<Action, String> {
        input.action(&self.entity, (&self.tool, &self.with), &self.why)
    }
}

impl Phase for Propose {
    const NAME: &'static str = "search_propose";
    type Input = ProposeInput;
    type Answer = ProposeAnswer;

    fn problems(input: &ProposeInput, answer: &ProposeAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        if answer.looks.len() > input.at_most as usize {
            let (given, most) = (answer.looks.len(), input.at_most);
            problems.push(format!("looks: {given} are more than {most}; keep the best"));
        }
        let mut before: Vec<Action> = Vec::new();
        for (at, look) in answer.looks.iter().enumerate() {
            let place = format!("looks[{at}]");
            match look.action(input) {
                Err(reason) => problems.push(format!("{place}: {reason}")),
                Ok(action) if before.iter().any(|other| other.is_same(&action)) => {
                    let what = if look.tool.is_empty() { &look.entity } else { &look.tool };
                    problems.push(format!("{place}: {what} is named twice"));
                }
                Ok(action) => before.push(action),
            }
            empty(&format!("{place}.why"), &look.why, &mut problems);
        }
        problems
    }

    /// One refused proposal says nothing against the others.
    fn without_refused(input: &ProposeInput, answer: &ProposeAnswer) -> Option<ProposeAnswer> {
        let mut looks: Vec<ProposedLook> = Vec::new();
        for look in &answer.looks {
            let alone = ProposeAnswer { looks: vec![look.clone()] };
            let same = |other: &ProposedLook| {
                (&other.entity, &other.tool, &other.with) == (&look.entity, &look.tool, &look.with)
            };
            let is_new = !looks.iter().any(same);
            if is_new && Self::problems(input, &alone).is_empty() {
                looks.push(look.clone());
            }
        }
        looks.truncate(input.at_most as usize);
        (!looks.is_empty()).then_some(ProposeAnswer { looks })
    }
}
