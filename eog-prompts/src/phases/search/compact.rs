//! What the oldest steps of a chain came to.

use eog_evidence::{mask_text, shorten};
use eog_search::ask::CompactAsk;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::empty;
use super::path::{Detail, Writer};
use super::steps::StepLine;
use crate::Phase;
use crate::phases::frame::IncidentLines;
use crate::phases::lines::cut;

/// Sums up the oldest steps of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Compact;

/// Steps, and what is left of those before.
#[derive(Clone, Debug, Serialize)]
pub struct CompactInput {
    #[serde(flatten)]
    incident: IncidentLines,
    summary: String,
    steps: Vec<StepLine>,
    at_most: u32,
}

impl CompactInput {
    /// The input for a question of a chain.
    pub fn new(ask: &CompactAsk, detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let steps = ask.steps.iter().map(|step| StepLine::new(step, &mut writer, detail)).collect();
        let summary = cut(&mask_text(&ask.summary), Some(8_000));
        Self { incident: writer.incident(), summary, steps, at_most: ask.at_most }
    }
}

/// A summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompactAnswer {
    /// what was looked at, what was found there with times and values, what is still open
    pub summary: String,
}

impl CompactAnswer {
    /// The text of an answer without problems.
    pub fn text(&self, input: &CompactInput) -> String {
        shorten(&mask_text(self.summary.trim()), input.at_most as usize)
    }
}

impl Phase for Compact {
    const NAME: &'static str = "search_compact";
    type Input = CompactInput;
    type Answer = CompactAnswer;

    fn problems(_input: &CompactInput, answer: &CompactAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        empty("summary", &answer.summary, &mut problems);
        problems
    }
}
