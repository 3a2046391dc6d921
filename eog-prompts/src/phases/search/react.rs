//! What the agent of a chain does next.

use eog_evidence::mask_text;
use eog_search::ask::ReactAsk;
use eog_search::chain::ChainCame;
use eog_search::{ChainAction, ChainPhase, Deed, PlanEdit, ToolCall, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::investigate::{MAX_ARGUMENTS, ToolLine, tool_line};
use super::path::{Detail, LeadLine, Named, Writer};
use super::steps::{PlanLine, StepLine, plan};
use super::{empty, kept};
use crate::Phase;
use crate::phases::frame::IncidentLines;
use crate::phases::lines::{NeighbourLine, cut};

/// Chooses the next step of a chain: an evaluation, a call, or the conclusion.
#[derive(Clone, Copy, Debug)]
pub struct React;

/// A plan, what was done, and what can be done.
#[derive(Clone, Debug, Serialize)]
pub struct ReactInput {
    #[serde(flatten)]
    incident: IncidentLines,
    tools: Vec<ToolLine>,
    plan: Vec<PlanLine>,
    /// What is left of the oldest steps; empty as long as all are shown.
    summary: String,
    steps: Vec<StepLine>,
    /// Where the case says to start, if nothing was evaluated yet.
    seeds: Vec<LeadLine>,
    /// The neighbours of the last evaluated entity.
    neighbours: Vec<NeighbourLine>,
    /// How many steps are left, with this one; 0 if there is nothing but to conclude.
    left: u32,
    #[serde(skip)]
    named: Named,
}

impl ReactInput {
    /// The input for a question of a chain, with what its agent is offered.
    pub fn new(ask: &ReactAsk, tools: &[ToolSpec], detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let steps = ask.steps.iter().map(|step| StepLine::new(step, &mut writer, detail)).collect();
        let evaluated = ask.steps.iter().filter_map(|step| match &step.came {
            ChainCame::Looked(seen) => Some(seen.clone()),
            _ => None,
        });
        let evaluated: Vec<_> = evaluated.collect();
        let neighbours = match evaluated.last() {
            Some(last) => writer.neighbours(last.action.entity(), &evaluated),
            None => Vec::new(),
        };
        let is_begun = !evaluated.is_empty() || !ask.summary.is_empty();
        Self {
            incident: writer.incident(),
            tools: tools.iter().map(tool_line).collect(),
            plan: plan(&ask.plan, detail),
            summary: cut(&mask_text(&ask.summary), Some(8_000)),
            steps,
            seeds: if is_begun { Vec::new() } else { writer.seeds() },
            neighbours,
            left: ask.left,
            named: writer.named(),
        }
    }
}

/// Where an agent says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseWord {
    /// what there is, and how it hangs together
    Context,
    /// what the alerts say
    Symptoms,
    /// what may be the cause
    Hypotheses,
    /// evidence for and against
    Evidence,
    /// how one thing led to the next
    CausalChain,
    /// the answer
    Conclusion,
}

/// What an agent can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeedWord {
    /// look at an entity
    Look,
    /// call a tool
    Call,
    /// end with an answer
    Conclude,
}

/// What changes in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditWord {
    /// a further step
    Add,
    /// a step is done
    Done,
    /// a step is not needed any more
    Withdraw,
}

/// A change of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedEdit {
    /// what
    pub change: EditWord,
    /// add: what is to be done; else empty
    pub text: String,
    /// done, withdraw: the number of the step; add: null
    pub step: Option<u32>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReactAnswer {
    /// why this step, in one sentence
    pub because: String,
    /// where you are in the investigation
    pub phase: PhaseWord,
    /// changes of the plan, made before anything else; empty if it stays
    pub plan: Vec<StatedEdit>,
    /// the open step of the plan that this is for, by number; null if for none
    pub step: Option<u32>,
    /// what you do
    pub action: DeedWord,
    /// look: name of the entity; else empty
    pub entity: String,
    /// call: name of the tool; else empty
    pub tool: String,
    /// call: its arguments, a JSON object as text; else empty
    pub with: String,
    /// conclude: names of the causes, none of which another one explains; else empty
    pub causes: Vec<String>,
    /// conclude: how the causes led to the alerts, in one to three sentences; else empty
    pub summary: String,
}

impl ReactAnswer {
    /// The action of an answer without problems; nothing where an entity has no such name.
    pub fn action(&self, input: &ReactInput) -> Option<ChainAction> {
        let deed = match self.action {
            DeedWord::Look => Deed::Look(input.named.resolve(&self.entity).ok()?),
            DeedWord::Call => {
                let arguments = mask_text(self.with.trim());
                let arguments = if arguments.is_empty() { "{}".to_owned() } else { arguments };
                let tool = cut(&mask_text(self.tool.trim()), Some(100));
                Deed::Call(ToolCall { tool, arguments })
            }
            DeedWord::Conclude => {
                let causes = self.causes.iter().filter_map(|name| input.named.resolve(name).ok());
                Deed::Conclude { causes: causes.collect(), summary: kept(&self.summary) }
            }
        };
        let edit = |stated: &StatedEdit| {
            Some(match stated.change {
                EditWord::Add => PlanEdit::Add(kept(&stated.text)),
                EditWord::Done => PlanEdit::Done(stated.step?),
                EditWord::Withdraw => PlanEdit::Withdraw(stated.step?),
            })
        };
        let phase = match self.phase {
            PhaseWord::Context => ChainPhase::Context,
            PhaseWord::Symptoms => ChainPhase::Symptoms,
            PhaseWord::Hypotheses => ChainPhase::Hypotheses,
            PhaseWord::Evidence => ChainPhase::Evidence,
            PhaseWord::CausalChain => ChainPhase::CausalChain,
            PhaseWord::Conclusion => ChainPhase::Conclusion,
        };
        let plan = self.plan.iter().filter_map(edit).collect();
        Some(ChainAction { thought: kept(&self.because), phase, plan, step: self.step, deed })
    }
}

impl Phase for React {
    const NAME: &'static str = "search_react";
    type Input = ReactInput;
    type Answer = ReactAnswer;

    /// Which steps the plan has, and whether the tool takes the arguments, is for the controller and the tools to
    /// say: the chain records it.
    fn problems(input: &ReactInput, answer: &ReactAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        empty("because", &answer.because, &mut problems);
        for (at, edit) in answer.plan.iter().enumerate() {
            match edit.change {
                EditWord::Add => empty(&format!("plan[{at}].text"), &edit.text, &mut problems),
                EditWord::Done | EditWord::Withdraw if edit.step.is_none() => {
                    problems.push(format!("plan[{at}].step: it is null; give its number"));
                }
                EditWord::Done | EditWord::Withdraw => {}
            }
        }
        if input.left == 0 && answer.action != DeedWord::Conclude {
            problems.push("action: no step is left; conclude".to_owned());
        }
        match answer.action {
            DeedWord::Look => {
                if let Err(reason) = input.named.resolve(&answer.entity) {
                    problems.push(format!("entity: {reason}"));
                }
            }
            DeedWord::Call => {
                if answer.tool.trim().is_empty() {
                    problems.push("tool: it is empty; name one of the tools".to_owned());
                }
                if answer.with.len() > MAX_ARGUMENTS {
                    problems.push(format!("with: they are longer than {MAX_ARGUMENTS} bytes"));
                }
            }
            DeedWord::Conclude => {
                empty("summary", &answer.summary, &mut problems);
                for (at, cause) in answer.causes.iter().enumerate() {
                    if let Err(reason) = input.named.resolve(cause) {
                        problems.push(format!("causes[{at}]: {reason}"));
                    }
                }
            }
        }
        problems
    }
}
