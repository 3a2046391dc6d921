//! How good a path is.

use eog_search::ask::EvaluateAsk;
use eog_search::{Purpose, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path::{Detail, LookLine, Writer};
use super::{empty, kept, score};
use crate::Phase;
use crate::phases::frame::IncidentLines;

/// Gives a score to a path.
#[derive(Clone, Copy, Debug)]
pub struct Evaluate;

/// A path.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluateInput {
    #[serde(flatten)]
    incident: IncidentLines,
    path: Vec<LookLine>,
    /// Whether nothing more will be looked at.
    is_whole: bool,
    accept: u16,
}

impl EvaluateInput {
    /// The input for a question of a search.
    pub fn new(ask: &EvaluateAsk, detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        Self {
            path: writer.path(&ask.path),
            incident: writer.incident(),
            is_whole: ask.purpose == Purpose::Reward,
            accept: ask.accept,
        }
    }
}

/// A score with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluateAnswer {
    /// one or two sentences: what speaks for this path, what is missing
    pub because: String,
    /// whether nothing beyond the end of this path can explain the alerts
    pub dead_end: bool,
    /// 0 to 1000
    pub score: u16,
}

impl EvaluateAnswer {
    /// The verdict of an answer without problems.
    pub fn verdict(&self) -> Verdict {
        Verdict { prune: self.dead_end, ..Verdict::new(self.score, kept(&self.because)) }
    }
}

impl Phase for Evaluate {
    const NAME: &'static str = "search_evaluate";
    type Input = EvaluateInput;
    type Answer = EvaluateAnswer;

    fn problems(_input: &EvaluateInput, answer: &EvaluateAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        empty("because", &answer.because, &mut problems);
        score("score", answer.score, &mut problems);
        problems
    }
}
