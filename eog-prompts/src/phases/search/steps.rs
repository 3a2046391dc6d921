//! What the agent of a chain did, and what came of it, as lines.

use eog_evidence::mask_text;
use eog_search::chain::{ChainCame, ChainStep};
use eog_search::{Deed, PlanStatus, PlanStep};
use serde::Serialize;
use serde_json::Value;

use super::investigate::{blank, write_came};
use super::path::{Detail, EvaluationLine, Writer};
use crate::phases::lines::cut;

/// A step of a chain.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StepLine {
    number: u32,
    because: String,
    /// The step of the plan that it was for; empty where it names none.
    planned: String,
    /// One where it evaluated an entity.
    look: Vec<EvaluationLine>,
    /// The tool that it called, with its arguments; empty where it called none.
    tool: String,
    with: String,
    /// One where it called a tool.
    came: Vec<Value>,
    refused: Vec<RefusedLine>,
    /// Why it was not done; empty where it was.
    not_done: String,
}

/// A part of a step that did not count.
#[derive(Clone, Debug, Serialize)]
struct RefusedLine {
    part: String,
    reason: String,
}

/// A step of a plan.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PlanLine {
    number: u32,
    status: &'static str,
    text: String,
}

pub(super) fn plan(plan: &[PlanStep], detail: Detail) -> Vec<PlanLine> {
    let line = |step: &PlanStep| PlanLine {
        number: step.number,
        status: match step.status {
            PlanStatus::Open => "open",
            PlanStatus::Done => "done",
            PlanStatus::Withdrawn => "withdrawn",
        },
        text: cut(&mask_text(&step.text), Some(detail.text)),
    };
    plan.iter().map(line).collect()
}

impl StepLine {
    pub(super) fn new(step: &ChainStep, writer: &mut Writer<'_>, detail: Detail) -> Self {
        let text = |text: &str| cut(&mask_text(text), Some(detail.text));
        let action = &step.action;
        let (mut look, mut came, mut not_done) = (Vec::new(), Vec::new(), String::new());
        let (tool, with) = match &action.deed {
            Deed::Call(call) => (cut(&mask_text(&call.tool), Some(100)), text(&call.arguments)),
            Deed::Look(_) | Deed::Conclude { .. } => Default::default(),
        };
        match (&step.came, &action.deed) {
            (ChainCame::Looked(seen), _) => look.push(writer.evaluation(seen)),
            (ChainCame::Called(answer), Deed::Call(call)) => {
                let mut data = blank(step.number);
                write_came(&mut data, &call.tool, answer, (writer, &mut Vec::new()), detail);
                came.push(data);
            }
            (ChainCame::Called(_), _) => {}
            (ChainCame::Refused(why), Deed::Look(entity)) => {
                not_done = format!("look at {}: {why}", text(entity.as_str()));
            }
            (ChainCame::Refused(why), _) => not_done = why.to_string(),
        }
        let refused = step
            .refused
            .iter()
            .map(|(part, reason)| RefusedLine { part: text(part), reason: reason.to_string() });
        Self {
            number: step.number,
            because: text(&action.thought),
            planned: action.step.map(|step| step.to_string()).unwrap_or_default(),
            look,
            tool,
            with,
            came,
            refused: refused.collect(),
            not_done,
        }
    }
}
