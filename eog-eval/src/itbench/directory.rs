//! Folders of outputs: `SCENARIO/RUN/agent_output.json`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use eog_simulate::files::{FileError, list_folder};
use eog_simulate::{Scenario, Scenarios};
use serde::Serialize;

use super::output::Output;
use super::reasoning::{Reasoning, ReasoningJudge, ReasoningReport};
use super::runs::{RunsReport, evaluate_runs};
use super::score::{OutputScore, score};
use super::truth::GroundTruth;
use crate::error::EvalError;
use crate::table::{csv_text, score as number};

/// The file that a run leaves.
const OUTPUT_FILE: &str = "agent_output.json";

/// Ground truths by scenario, each with the file that it was read from.
#[derive(Clone, Debug)]
pub struct Truths {
    by_scenario: BTreeMap<String, (PathBuf, GroundTruth)>,
    /// Why other truths cannot be used.
    left_out: Vec<String>,
}

impl Truths {
    /// Reads a list of truths with their `id`, or a folder of scenarios
    /// (`Scenario-N/ground_truth.yaml`), which are known by their number, else by their name.
    ///
    /// # Errors
    /// [`EvalError`] names the file, the place, and what is wrong.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let of_folders = path.is_dir();
        let mut truths = BTreeMap::new();
        let Scenarios { usable, left_out } = Scenario::read_all(path)?;
        for scenario in usable {
            let truth = GroundTruth::of(&scenario)?;
            let Scenario { id, file, place, .. } = scenario;
            let folder = file.parent().filter(|_| of_folders);
            let name = match (folder, id) {
                (Some(folder), _) => scenario_of(folder),
                (None, Some(id)) => id,
                (None, None) => return Err(EvalError::malformed(path, place, "it has no id")),
            };
            truths.insert(name, (file, truth));
        }
        Ok(Self { by_scenario: truths, left_out })
    }

    /// The truth of a scenario.
    pub fn of(&self, scenario: &str) -> Option<&GroundTruth> {
        self.by_scenario.get(scenario).map(|(_, truth)| truth)
    }

    /// What is odd about the truth of a scenario, with its file.
    fn notes(&self, scenario: &str) -> impl Iterator<Item = String> {
        let placed = move |(path, truth): &(PathBuf, GroundTruth)| -> Vec<String> {
            let place = format!("{}, scenario {scenario}", path.display());
            truth.notes().iter().map(|note| format!("{place}: {note}")).collect()
        };
        self.by_scenario.get(scenario).map(placed).unwrap_or_default().into_iter()
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
    /// What its reasoning scored; nothing without a judge.
    pub reasoning: Option<Reasoning>,
}

/// What a folder of outputs scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ItbenchReport {
    /// Every run, by scenario and run.
    pub runs: Vec<RunScore>,
    /// All runs together.
    pub summary: Option<RunsReport>,
    /// What the reasoning scored; nothing without a judge.
    pub reasoning: Option<ReasoningReport>,
    /// Scenarios without a truth, which are left out.
    pub without_truth: Vec<String>,
    /// Scenarios without any run, which are left out.
    pub without_runs: Vec<String>,
    /// What is odd about the truths of these scenarios.
    pub notes_on_truths: Vec<String>,
}

/// Scores every `SCENARIO/RUN/agent_output.json` of a folder. An output of no use is a failed run.
/// Without a `k`, it is the smallest number of runs of any scenario. A judge of the reasoning, if
/// there is one, is not asked before `k` is found to be right.
///
/// # Errors
/// [`EvalError`] when the folder cannot be read or holds no output, when `k` is 0, or when a
/// scenario has fewer than `k` runs. What a judge fails to judge is left out, with the reason.
pub fn evaluate_outputs(
    truths: &Truths,
    dir: &Path,
    k: Option<usize>,
    judge: Option<&dyn ReasoningJudge>,
) -> Result<ItbenchReport, EvalError> {
    let folders = |dir: &Path| -> Result<Vec<PathBuf>, EvalError> {
        Ok(list_folder(dir)?.into_iter().filter(|path| path.is_dir()).collect())
    };
    let (mut without_truth, mut without_runs) = (Vec::new(), Vec::new());
    let mut found: Vec<(String, &GroundTruth, Vec<PathBuf>)> = Vec::new();
    for folder in folders(dir)? {
        let scenario = scenario_of(&folder);
        let runs = folders(&folder)?;
        match truths.of(&scenario) {
            None => without_truth.push(scenario),
            Some(_) if runs.is_empty() => without_runs.push(scenario),
            Some(truth) => found.push((scenario, truth, runs)),
        }
    }
    let Some((fewest, runs)) =
        found.iter().map(|(name, _, runs)| (name, runs.len())).min_by_key(|(_, runs)| *runs)
    else {
        let expected = "SCENARIO/RUN/agent_output.json, with a ground truth for the scenario";
        return Err(FileError::nothing(dir, expected).into());
    };
    let k = k.unwrap_or(runs);
    if k == 0 || k > runs {
        return Err(EvalError::Runs { k, scenario: fewest.clone(), runs });
    }
    let mut notes_on_truths: Vec<String> =
        truths.left_out.iter().map(|reason| format!("left out: {reason}")).collect();
    let mut scored = Vec::new();
    let mut by_scenario: BTreeMap<String, Vec<Option<OutputScore>>> = BTreeMap::new();
    for (scenario, truth, runs) in &found {
        notes_on_truths.extend(truths.notes(scenario));
        for run in runs {
            let read = Output::read(&run.join(OUTPUT_FILE));
            let reason = read.as_ref().err().map_or_else(String::new, ToString::to_string);
            let output = read.ok();
            let score = output.as_ref().map(|output| score(output, truth));
            by_scenario.entry(scenario.clone()).or_default().push(score.clone());
            let reasoning = judge.map(|judge| Reasoning::of(output.as_ref(), truth, judge));
            let (scenario, run) = (scenario.clone(), name_of(run));
            scored.push(RunScore { scenario, run, score, reason, reasoning });
        }
    }
    let reasoning = judge.map(|judge| {
        ReasoningReport::of(judge.name(), scored.iter().filter_map(|run| run.reasoning.as_ref()))
    });
    let summary = evaluate_runs(&by_scenario, k);
    Ok(ItbenchReport {
        runs: scored,
        summary,
        reasoning,
        without_truth,
        without_runs,
        notes_on_truths,
    })
}

impl ItbenchReport {
    /// What to know before the figures are believed: what is left out, outputs of no use, odd
    /// truths.
    pub fn notes(&self) -> Vec<String> {
        let of_runs = self.runs.iter().flat_map(|run| {
            let RunScore { scenario, run, score, reason, reasoning } = run;
            let useless = score
                .is_none()
                .then(|| format!("the output of {scenario}/{run} cannot be used: {reason}"));
            let unjudged = reasoning.as_ref().and_then(|reasoning| match reasoning {
                Reasoning::LeftOut { reason } => {
                    Some(format!("the reasoning of {scenario}/{run} is not scored: {reason}"))
                }
                Reasoning::Scored { .. } => None,
            });
            useless.into_iter().chain(unjudged)
        });
        let left_out = |scenarios: &[String], why: &str| -> Vec<String> {
            scenarios.iter().map(|name| format!("scenario {name} is skipped: {why}")).collect()
        };
        let mut notes = left_out(&self.without_truth, "it has no ground truth");
        notes.extend(left_out(&self.without_runs, "it has no runs"));
        notes.extend(of_runs);
        notes.extend(self.notes_on_truths.iter().cloned());
        notes
    }

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
            "reasoning",
            "reasoning_because",
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
                run.reasoning.as_ref().and_then(Reasoning::score).map_or_else(String::new, number),
                run.reasoning.as_ref().map_or_else(String::new, Reasoning::because),
            ]
        });
        csv_text(&header, rows)
    }
}

impl fmt::Display for ItbenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(summary) = &self.summary {
            write!(f, "{summary}")?;
        }
        match &self.reasoning {
            Some(reasoning) => write!(f, "{reasoning}")?,
            None => writeln!(f, "  {:<24}not scored: there is no judge", "reasoning")?,
        }
        self.notes().iter().try_for_each(|note| writeln!(f, "  note: {note}"))
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.display().to_string())
}

/// The number at the end of a folder's name, else the name.
pub(crate) fn scenario_of(folder: &Path) -> String {
    let name = name_of(folder);
    let digits = name.chars().rev().take_while(char::is_ascii_digit).count();
    match name.len() - digits {
        at if digits > 0 => name.split_at(at).1.to_owned(),
        _ => name,
    }
}
