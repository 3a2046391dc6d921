//! Recorded snapshots in the layout of ITBench, investigated and scored like simulated ones.

use std::path::{Path, PathBuf};

use eog_simulate::files::{FileError, list_folder};
use eog_sre::Stop;

use crate::error::EvalError;
use crate::investigation::Method;
use crate::itbench::{Truths, evaluate_snapshot, scenario_of};
use crate::simulated::{Ablation, SimulatedCase, SimulatedReport};

/// How recorded snapshots are investigated.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The architecture of the application, if it is known.
    pub architecture: Option<PathBuf>,
    /// How often each is investigated: from the second time on in other orders of evaluation.
    pub runs: usize,
    /// How each is investigated.
    pub method: Method,
    /// When to leave it at the snapshots that are done: asked before each run.
    pub stop: Option<Stop>,
}

/// Investigates the snapshots of a folder (`Scenario-N`) that have a ground truth, each several times, and scores the results.
/// `progress` is called after every run.
///
/// # Errors
/// [`EvalError`] when the folder cannot be read, or has no snapshot with a ground truth; a snapshot that cannot be investigated is
/// a case with the reason.
pub fn evaluate(
    truths: &Truths,
    dir: &Path,
    settings: &Settings,
    mut progress: impl FnMut(&SimulatedCase),
) -> Result<SimulatedReport, EvalError> {
    let Settings { architecture, runs, method, stop } = settings;
    let is_stopped = || stop.as_ref().is_some_and(Stop::is_wanted);
    let folders = list_folder(dir)?.into_iter().filter(|path| path.is_dir());
    let known = folders.filter_map(|folder| {
        let scenario = scenario_of(&folder);
        truths.of(&scenario).map(|truth| (folder, scenario, truth))
    });
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        let expected = "folders of snapshots (Scenario-N), each with a ground truth";
        return Err(FileError::nothing(dir, expected).into());
    }
    let mut cases: Vec<SimulatedCase> = Vec::new();
    for (at, (folder, scenario, truth)) in known.iter().enumerate() {
        for run in 1..=*runs {
            if is_stopped() {
                // A snapshot counts with all its runs or not at all.
                cases.retain(|case| case.scenario != *scenario);
                if cases.is_empty() {
                    return Err(EvalError::Stopped);
                }
                return Ok(SimulatedReport::of(cases, *runs, known.len() - at));
            }
            let method = method.of_run(run);
            let scored = evaluate_snapshot(folder, architecture.as_deref(), truth, &method);
            let reason = scored.as_ref().err().map(ToString::to_string).unwrap_or_default();
            let (scenario, seed, ablation) = (scenario.clone(), run as u64, Ablation::Whole);
            let case = SimulatedCase { scenario, seed, ablation, scored: scored.ok(), reason };
            progress(&case);
            cases.push(case);
        }
    }
    Ok(SimulatedReport::of(cases, *runs, 0))
}
