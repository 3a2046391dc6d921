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

pub use report::{Figures, GroupReport, SuiteReport};
pub use score::{BaselineScore, CaseScore, score_case};
pub use truth::{TRUTH_SUFFIX, Truth};

use crate::error::{EvalError, entries};

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

/// Investigates and scores every bundle of a folder, by name.
///
/// # Errors
/// [`EvalError`] when the folder has no pair of bundle and truth file, when either is malformed,
/// or when one of a pair is missing.
pub fn evaluate(dir: &Path) -> Result<SuiteReport, EvalError> {
    let mut scores = Vec::new();
    for path in entries(dir)? {
        let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
        if !path.is_dir() {
            let bundle = name.strip_suffix(TRUTH_SUFFIX).map(|stem| dir.join(stem));
            if let Some(bundle) = bundle.filter(|bundle| !bundle.is_dir()) {
                let reason = format!("the bundle {} is missing beside it", bundle.display());
                return Err(EvalError::file(&path, reason));
            }
            continue;
        }
        let truth_file = dir.join(format!("{name}{TRUTH_SUFFIX}"));
        if !truth_file.exists() && !path.join("bundle.json").exists() {
            continue;
        }
        let bundle = Bundle::read(&path).map_err(|error| EvalError::file(&path, error))?;
        let truth = Truth::read(&truth_file)?;
        scores.push(score_case(SuiteCase { name, bundle, truth })?);
    }
    if scores.is_empty() {
        let expected = "folders with a bundle, each with NAME.truth.json beside it";
        return Err(EvalError::Nothing { dir: dir.to_owned(), expected });
    }
    Ok(SuiteReport::new(scores))
}
