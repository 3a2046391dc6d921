//! Folders of outputs: `SCENARIO/RUN/agent_output.json`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::output::Output;
use super::runs::{RunsReport, evaluate_runs};
use super::score::{OutputScore, score};
use super::truth::GroundTruth;
use crate::error::{EvalError, entries};
use crate::table::{csv_text, score as number};

/// The file that a run leaves.
const OUTPUT_FILE: &str = "agent_output.json";

/// Ground truths by scenario.
#[derive(Clone, Debug)]
pub struct Truths(BTreeMap<String, GroundTruth>);

impl Truths {
    /// Reads a JSON list of truths with their `id`, or a folder of scenarios
    /// (`Scenario-N/ground_truth.yaml`). Scenarios are known by their number, else by their name.
    ///
    /// # Errors
    /// [`EvalError`] names the file, the place, and what is wrong.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let mut truths = BTreeMap::new();
        if path.is_dir() {
            for folder in entries(path)?.into_iter().filter(|folder| folder.is_dir()) {
                let file = folder.join("ground_truth.yaml");
                if file.is_file() {
                    truths.insert(scenario_of(&folder), GroundTruth::read(&file)?);
                }
            }
        } else {
            for truth in GroundTruth::read_all(path)? {
                let Some(id) = truth.id.clone() else {
                    return Err(EvalError::malformed(path, "a truth", "it has no id"));
                };
                truths.insert(id, truth);
            }
        }
        if truths.is_empty() {
            let expected = "a JSON list of truths, or folders with ground_truth.yaml";
            return Err(EvalError::Nothing { dir: path.to_owned(), expected });
        }
        Ok(Self(truths))
    }

    /// The truth of a scenario.
    pub fn of(&self, scenario: &str) -> Option<&GroundTruth> {
        self.0.get(scenario)
    }
}

/// What one run scored; nothing when its output is of no use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunScore {
    /// The scenario.
    pub scenario: String,
    /// The run.
    pub run: String,
    /// What it scored.
    pub score: Option<OutputScore>,
    /// Why its output is of no use; empty when it is.
    pub reason: String,
}

/// What a folder of outputs scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ItbenchReport {
    /// Every run, by scenario and run.
    pub runs: Vec<RunScore>,
    /// All runs together; nothing when a scenario has fewer than k.
    pub summary: Option<RunsReport>,
    /// Scenarios without a truth, which are left out.
    pub without_truth: Vec<String>,
}

/// Scores every `SCENARIO/RUN/agent_output.json` of a folder. An output of no use is a failed run.
/// Without a `k`, it is the smallest number of runs of any scenario.
///
/// # Errors
/// [`EvalError`] when the folder cannot be read or holds no output.
pub fn evaluate_outputs(
    truths: &Truths,
    dir: &Path,
    k: Option<usize>,
) -> Result<ItbenchReport, EvalError> {
    let folders = |dir: &Path| -> Result<Vec<PathBuf>, EvalError> {
        Ok(entries(dir)?.into_iter().filter(|path| path.is_dir()).collect())
    };
    let mut runs = Vec::new();
    let mut without_truth = Vec::new();
    for folder in folders(dir)? {
        let scenario = scenario_of(&folder);
        let Some(truth) = truths.of(&scenario) else {
            without_truth.push(scenario);
            continue;
        };
        for run in folders(&folder)? {
            let output = Output::read(&run.join(OUTPUT_FILE));
            let reason = output.as_ref().err().map_or_else(String::new, ToString::to_string);
            runs.push(RunScore {
                scenario: scenario.clone(),
                run: name_of(&run),
                score: output.ok().map(|output| score(&output, truth)),
                reason,
            });
        }
    }
    if runs.is_empty() {
        let expected = "SCENARIO/RUN/agent_output.json, with a truth for the scenario";
        return Err(EvalError::Nothing { dir: dir.to_owned(), expected });
    }
    let mut by_scenario: BTreeMap<String, Vec<Option<OutputScore>>> = BTreeMap::new();
    for run in &runs {
        by_scenario.entry(run.scenario.clone()).or_default().push(run.score.clone());
    }
    let fewest = by_scenario.values().map(Vec::len).min().unwrap_or(0);
    let summary = evaluate_runs(&by_scenario, k.unwrap_or(fewest));
    Ok(ItbenchReport { runs, summary, without_truth })
}

impl ItbenchReport {
    /// One row for each run.
    pub fn to_csv(&self) -> String {
        let header = [
            "scenario",
            "run",
            "predicted",
            "precision",
            "recall",
            "f1",
            "entity@1",
            "entity@3",
            "propagation",
            "leaderboard",
            "reason",
        ];
        let rows = self.runs.iter().map(|run| {
            let of = |pick: &dyn Fn(&OutputScore) -> Option<f64>| {
                run.score.as_ref().and_then(pick).map_or_else(String::new, number)
            };
            let at = |k: usize| of(&|s| s.at.iter().find(|at| at.k == k).map(|at| at.recall));
            vec![
                run.scenario.clone(),
                run.run.clone(),
                of(&|s| Some(s.predicted as f64)),
                of(&|s| Some(s.precision)),
                of(&|s| Some(s.recall)),
                of(&|s| Some(s.f1)),
                at(1),
                at(3),
                of(&|s| s.propagation),
                of(&|s| Some(s.leaderboard)),
                run.reason.clone(),
            ]
        });
        csv_text(&header, rows)
    }
}

impl fmt::Display for ItbenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.summary {
            Some(summary) => write!(f, "{summary}")?,
            None => writeln!(f, "{} runs; a scenario has fewer than k of them", self.runs.len())?,
        }
        if !self.without_truth.is_empty() {
            writeln!(f, "  left out, no truth: {}", self.without_truth.join(", "))?;
        }
        for run in self.runs.iter().filter(|run| run.score.is_none()) {
            writeln!(f, "  {}/{} is of no use: {}", run.scenario, run.run, run.reason)?;
        }
        Ok(())
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.display().to_string())
}

/// The number at the end of a folder's name, else the name.
fn scenario_of(folder: &Path) -> String {
    let name = name_of(folder);
    let digits = name.chars().rev().take_while(char::is_ascii_digit).count();
    match name.len() - digits {
        at if digits > 0 => name.split_at(at).1.to_owned(),
        _ => name,
    }
}
