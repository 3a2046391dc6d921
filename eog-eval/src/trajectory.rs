//! What an agent or a controller did, step by step, and how often it failed by the taxonomy MAST (Cemri et
//! al., *Why Do Multi-Agent LLM Systems Fail?*, 2025; the EoG paper's appendix C).
//!
//! A [`Trajectory`] is read from a ledger of any controller ([`Trajectory::of_ledger`]), or from JSON in its
//! own form, for agents of other makers. [`Counts::of`] counts the modes that stated rules can decide from it.
//! A mode that cannot be decided is not counted, which is not the same as 0.

mod count;
mod ledger;
mod search;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::error::EvalError;

pub use count::{Counts, Mode, ModeTable};

/// What an agent or a controller did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    /// Its steps, oldest first.
    pub steps: Vec<Step>,
    /// The steps of its plan that were neither done nor withdrawn; nothing where it has no plan.
    #[serde(default)]
    pub open_plan: Option<u32>,
    /// The alerts that its answer does not explain, by name; nothing where that is unknown.
    #[serde(default)]
    pub unexplained: Option<Vec<String>>,
    /// After so many steps all alerts were explained for the first time: 0 if never; nothing where that is unknown.
    #[serde(default)]
    pub explained_after: Option<u32>,
    /// The causes that its answer names.
    #[serde(default)]
    pub named: Vec<String>,
    /// Whether its answer is accepted as proven, by whatever judges it.
    #[serde(default)]
    pub accepted: bool,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The role whose conversation it belongs to.
    #[serde(default)]
    pub who: String,
    /// The tool that is called; `look` for an evaluation of an entity; empty for what calls nothing.
    #[serde(default)]
    pub tool: String,
    /// What distinguishes two calls of a tool.
    #[serde(default)]
    pub arguments: String,
    /// The entity that it is about, if it is about one.
    #[serde(default)]
    pub entity: Option<String>,
    /// What came of it.
    #[serde(default)]
    pub came: Outcome,
    /// How many parts of the answer that led to it were refused, answers of no use included.
    #[serde(default)]
    pub refused: u32,
    /// Whether it does what the step of the plan that it names says, as far as such a step is still to be done;
    /// nothing where it names none.
    #[serde(default)]
    pub planned: Option<bool>,
    /// Whether what came before it was summarised.
    #[serde(default)]
    pub compacted: bool,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// What was asked for.
    #[default]
    Answered,
    /// What was known already: no call was made.
    Remembered,
    /// The call was not made: there is no such tool, or its arguments do not fit.
    Syntactic,
    /// The call was made, and failed.
    Semantic,
}

impl Step {
    /// A step that calls a tool.
    pub fn call(
        who: impl Into<String>,
        tool: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self {
            who: who.into(),
            tool: tool.into(),
            arguments: arguments.into(),
            entity: None,
            came: Outcome::Answered,
            refused: 0,
            planned: None,
            compacted: false,
        }
    }

    /// A step that calls nothing.
    pub fn other(who: impl Into<String>) -> Self {
        Self::call(who, "", "")
    }

    /// Whether it calls anything.
    pub fn is_call(&self) -> bool {
        !self.tool.is_empty()
    }
}

impl Trajectory {
    /// Reads a trajectory: a ledger, a folder of results, a journal, or a JSON file in its own form.
    ///
    /// # Errors
    /// [`EvalError`] names the file, and what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        if is_json && path.is_file() {
            const MOST: u64 = 64 << 20;
            let about = std::fs::metadata(path).map_err(|error| EvalError::file(path, error))?;
            if about.len() > MOST {
                let reason = "a trajectory has at most 64 MiB";
                return Err(EvalError::file(path, reason));
            }
            let text =
                std::fs::read_to_string(path).map_err(|error| EvalError::file(path, error))?;
            if is_result(&text) {
                let reason = "this is the result of an agent, which does not hold its steps; give a ledger, or a \
                              file that says what the agent did (docs/evaluation.md)";
                return Err(EvalError::file(path, reason));
            }
            return serde_json::from_str(&text).map_err(|error| {
                let place = format!("line {}", error.line());
                EvalError::malformed(path, place, error)
            });
        }
        let read = eog_session::travel::read(path).map_err(|error| EvalError::Case {
            case: "trajectory".to_owned(),
            reason: error.to_string(),
        })?;
        Self::of_ledger(&read.ledger).map_err(|reason| EvalError::file(&read.path, reason))
    }
}

/// Whether a text is an output in the schema of the paper's appendix A.3.
fn is_result(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Fields {
        steps: Option<IgnoredAny>,
        entities: Option<IgnoredAny>,
    }
    serde_json::from_str::<Fields>(text)
        .is_ok_and(|fields| fields.steps.is_none() && fields.entities.is_some())
}

/// Trajectories with their counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failures {
    /// By trajectory, in the order given.
    pub counts: Vec<(String, Counts)>,
    /// Over all.
    pub all: ModeTable,
}

impl Failures {
    /// Counts the failures of trajectories. `truth` are the true causes, if they are known: of all of them.
    ///
    /// # Errors
    /// Those of [`Trajectory::read`].
    pub fn of_files(
        paths: &[impl AsRef<Path>],
        truth: Option<&BTreeSet<String>>,
        mut progress: impl FnMut(usize, &Path),
    ) -> Result<Self, EvalError> {
        let mut counts = Vec::new();
        for (done, path) in paths.iter().enumerate() {
            let path = path.as_ref();
            progress(done, path);
            let trajectory = Trajectory::read(path)?;
            counts.push((path.display().to_string(), Counts::of(&trajectory, truth)));
        }
        let all = ModeTable::of(counts.iter().map(|(_, counts)| counts));
        Ok(Self { counts, all })
    }

    /// A line for each trajectory; empty cells are not counted.
    pub fn to_csv(&self) -> String {
        let mut header = vec!["trajectory"];
        header.extend(Mode::ALL.iter().map(|mode| mode.column()));
        let rows = self
            .counts
            .iter()
            .map(|(name, counts)| std::iter::once(name.clone()).chain(counts.cells()).collect());
        crate::table::csv_text(&header, rows)
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.all)
    }
}
