//! Any folder of incident bundles, each with a truth file of one or more causes.
//!
//! ```text
//! suite/
//!   leak/              an incident bundle (docs/bundle.md)
//!   leak.truth.json    {"causes": ["pump"], "group": "hydraulics"}
//!   quiet/
//!   quiet.truth.json   {"causes": []}
//! ```
//!
//! A truth without causes is a normal time: what counts there is that nothing is named.

mod report;
mod score;
mod truth;

use std::path::Path;

use eog_evidence::Bundle;
use eog_simulate::files::{FileError, list_folder};

pub use report::{Figures, GroupReport, OverRuns, SuiteReport};
pub use score::{BaselineScore, CaseScore, score_case, score_runs};
pub use truth::{TRUTH_SUFFIX, Truth};

use crate::error::EvalError;

/// One case of a suite.
#[derive(Clone, Debug)]
pub struct SuiteCase {
    /// What it is called.
    pub name: String,
    /// The incident.
    pub bundle: Bundle,
    /// Its causes, for the scoring alone.
    pub truth: Truth,
}

/// Who hears of progress: how many cases are done, how many there are, and which comes next.
pub type Told<'a> = dyn FnMut(usize, usize, &str) + 'a;

/// Investigates and scores every bundle of a folder, by name.
///
/// # Errors
/// [`EvalError`] when the folder has no pair of bundle and truth file, when either is malformed,
/// or when one of a pair is missing.
pub fn evaluate(dir: &Path) -> Result<SuiteReport, EvalError> {
    evaluate_runs(dir, 1, &mut |_, _, _| {})
}

/// The same with several runs of each case in different orders of evaluation. `told` hears of
/// progress.
///
/// # Errors
/// Those of [`evaluate`].
pub fn evaluate_runs(
    dir: &Path,
    runs: usize,
    told: &mut Told<'_>,
) -> Result<SuiteReport, EvalError> {
    let Folder { cases, left_out } = list(dir)?;
    let mut scores = Vec::new();
    for (done, name) in cases.iter().enumerate() {
        told(done, cases.len(), name);
        let path = dir.join(name);
        let truth_file = dir.join(format!("{name}{TRUTH_SUFFIX}"));
        let bundle = Bundle::read(&path).map_err(|error| EvalError::file(&path, error))?;
        let truth = Truth::read(&truth_file)?;
        let mut score = score_runs(SuiteCase { name: name.clone(), bundle, truth }, runs)?;
        score.prefix_notes(&truth_file);
        scores.push(score);
    }
    Ok(SuiteReport { left_out, ..SuiteReport::new(scores) })
}

/// What a folder holds.
struct Folder {
    /// The names of bundles.
    cases: Vec<String>,
    /// The names of folders that are none.
    left_out: Vec<String>,
}

fn list(dir: &Path) -> Result<Folder, EvalError> {
    let mut folder = Folder { cases: Vec::new(), left_out: Vec::new() };
    for path in list_folder(dir)? {
        let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
        if !path.is_dir() {
            let bundle = name.strip_suffix(TRUTH_SUFFIX).map(|stem| dir.join(stem));
            if let Some(bundle) = bundle.filter(|bundle| !bundle.is_dir()) {
                let reason = format!("the bundle {} is missing beside it", bundle.display());
                return Err(EvalError::file(&path, reason));
            }
            continue;
        }
        let has_truth = dir.join(format!("{name}{TRUTH_SUFFIX}")).exists();
        let is_case = has_truth || path.join("bundle.json").exists();
        if is_case { folder.cases.push(name) } else { folder.left_out.push(name) }
    }
    if folder.cases.is_empty() {
        let expected = "folders with a bundle, each with NAME.truth.json beside it";
        return Err(FileError::nothing(dir, expected).into());
    }
    Ok(folder)
}
