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

mod case;
mod report;
mod score;
mod truth;

use std::path::Path;

use eog_simulate::files::{FileError, list_folder};

pub use case::SuiteCase;
pub use report::{Figures, GroupReport, OverRuns, SuiteReport};
pub use score::{BaselineScore, CaseScore, score_case};
pub use truth::{TRUTH_SUFFIX, Truth};

use crate::error::EvalError;

/// Who hears of progress: how many cases are done, how many there are, and which comes next.
pub type Told<'a> = dyn FnMut(usize, usize, &str) + 'a;

/// Investigates and scores every bundle of a folder, by name: `runs` times, from the second on in
/// other orders of evaluation. `told` hears of progress.
///
/// # Errors
/// [`EvalError`] when the folder has no pair of bundle and truth file, when either is malformed,
/// or when one of a pair is missing.
pub fn evaluate(dir: &Path, runs: usize, told: &mut Told<'_>) -> Result<SuiteReport, EvalError> {
    let Folder { cases, left_out } = list(dir)?;
    let opened = cases.iter().map(|name| SuiteCase::read(dir, name));
    Ok(SuiteReport { left_out, ..evaluate_cases(opened, cases.len(), runs, told)? })
}

/// Investigates and scores cases of any source, `all` of them, each when its turn comes.
pub(crate) fn evaluate_cases(
    cases: impl Iterator<Item = Result<SuiteCase, EvalError>>,
    all: usize,
    runs: usize,
    told: &mut Told<'_>,
) -> Result<SuiteReport, EvalError> {
    let mut scores = Vec::new();
    for case in cases {
        let case = case?;
        told(scores.len(), all, &case.name);
        scores.push(score_case(case, runs)?);
    }
    Ok(SuiteReport::new(scores))
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
                let reason = format!("its bundle {} is missing", bundle.display());
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
