//! How good a path is.

use eog_evidence::mask_text;
use eog_search::ask::EvaluateAsk;
use eog_search::{Metadata, MetadataValue, Purpose, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path::{Detail, EvaluationLine, Writer};
use super::{empty, kept, score};
use crate::Phase;
use crate::phases::frame::IncidentLines;
use crate::phases::lines::cut;

/// Gives a score to a path.
#[derive(Clone, Copy, Debug)]
pub struct Evaluate;

/// A path.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluateInput {
    #[serde(flatten)]
    incident: IncidentLines,
    path: Vec<EvaluationLine>,
    /// Whether nothing more will be evaluated.
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
    /// what else the planner should know, such as evidence_strength: moderate; empty if nothing
    #[serde(default)]
    pub metadata: Vec<StatedEntry>,
    /// 0 to 1000
    pub score: u16,
}

/// A text or a number with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedEntry {
    /// its name, in a word or two
    pub name: String,
    /// the text, or the number as text
    pub value: String,
}

impl EvaluateAnswer {
    /// The verdict of an answer without problems.
    pub fn verdict(&self) -> Verdict {
        let metadata = self.metadata.iter().map(StatedEntry::entry).take(Metadata::MOST).collect();
        let verdict = Verdict::new(self.score, kept(&self.because));
        Verdict { prune: self.dead_end, metadata: Metadata(metadata), ..verdict }
    }
}

impl StatedEntry {
    fn entry(&self) -> (String, MetadataValue) {
        let text = |text: &str, most| cut(&mask_text(text.trim()), Some(most));
        let value = match serde_json::from_str(self.value.trim()) {
            Ok(number) => MetadataValue::Number(number),
            Err(_) => MetadataValue::Text(text(&self.value, Metadata::LONGEST_TEXT - 1)),
        };
        (text(&self.name, Metadata::LONGEST_NAME - 1), value)
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
        for (at, entry) in answer.metadata.iter().enumerate() {
            empty(&format!("metadata[{at}].name"), &entry.name, &mut problems);
        }
        if answer.metadata.len() > Metadata::MOST {
            let (given, most) = (answer.metadata.len(), Metadata::MOST);
            problems.push(format!("metadata: {given} entries are more than {most}"));
        }
        problems
    }
}
