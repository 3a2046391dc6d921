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
//! A truth without causes is a normal time: what counts there is that nothing is named. A folder of closed cases
//! ([`eog_cases`]) is such a folder, too.

mod ablation;
mod case;
mod report;
mod score;
mod truth;

use std::path::{Path, PathBuf};

use eog_simulate::files::{FileError, list_folder};

pub use ablation::{AblatedScore, Ablations, WithoutSource};
pub use case::SuiteCase;
pub use report::{Figures, GroupReport, Lead, OverRuns, SuiteReport};
pub use score::{BaselineScore, CaseScore, SetScore, score_case};
pub use truth::{TRUTH_SUFFIX, Truth};

use eog_sre::Stop;

use crate::error::EvalError;
use crate::investigation::Method;

/// Progress updates: how many cases are done, how many there are, and which comes next.
pub type Progress<'a> = dyn FnMut(usize, usize, &str) + 'a;

/// How a suite is evaluated.
#[derive(Clone, Debug)]
pub struct Options {
    /// How each case is investigated.
    pub method: Method,
    /// How often each case is investigated: from the second time on in other orders of evaluation.
    pub runs: usize,
    /// Whether each case with a cause is investigated once more without it.
    pub knock_out: bool,
    /// Whether each case is investigated once more without each source of evidence.
    pub ablations: bool,
    /// A folder for the ledgers of the first runs, as `NAME.jsonl`, and of the knock-outs, as
    /// `NAME.knocked-out.jsonl`.
    pub out: Option<PathBuf>,
    /// When to leave it at what is scored so far: asked before each case.
    pub stop: Option<Stop>,
}

impl Options {
    /// So many runs, and nothing else.
    pub fn runs(runs: usize) -> Self {
        Self {
            method: Method::default(),
            runs,
            knock_out: false,
            ablations: false,
            out: None,
            stop: None,
        }
    }
}

/// Investigates and scores every bundle of a folder, by name. `progress` is called before each case. A case whose
/// bundle or truth is missing or cannot be used is left out; the report names it with the reason.
///
/// # Errors
/// [`EvalError`] when the folder has no bundle with a truth file, or no case can be used.
pub fn evaluate(
    dir: &Path,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<SuiteReport, EvalError> {
    let Folder { cases, left_out, orphans } = list(dir)?;
    let opened = cases.iter().map(|name| SuiteCase::read(dir, name, options.knock_out));
    let mut report = evaluate_cases(opened, cases.len(), options, progress)?;
    report.unusable.splice(0..0, orphans);
    Ok(SuiteReport { left_out, ..report })
}

/// Investigates and scores cases of any source, `all` of them, each when its turn comes.
pub(crate) fn evaluate_cases(
    cases: impl Iterator<Item = Result<SuiteCase, EvalError>>,
    all: usize,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<SuiteReport, EvalError> {
    if let Some(out) = &options.out {
        std::fs::create_dir_all(out).map_err(|error| EvalError::file(out, error))?;
    }
    let mut scores = Vec::new();
    let mut unusable: Vec<EvalError> = Vec::new();
    let mut ablations = ablation::Sum::default();
    let is_stopped = || options.stop.as_ref().is_some_and(Stop::is_wanted);
    for case in cases.take_while(|_| !is_stopped()) {
        let scored = case.and_then(|case| {
            progress(scores.len() + unusable.len(), all, &case.name);
            let kept = options.ablations.then(|| case.clone());
            let score = score_case(case, options)?;
            kept.map_or(Ok(()), |case| ablations.add(&case, &score, options))?;
            Ok(score)
        });
        match scored {
            Ok(score) => scores.push(score),
            // A ledger that cannot be written is no fault of the case.
            Err(error @ EvalError::Ledger { .. }) => return Err(error),
            Err(error) => unusable.push(error),
        }
    }
    let left = all.saturating_sub(scores.len() + unusable.len());
    let not_scored = if is_stopped() { left } else { 0 };
    let reasons = unusable.iter().map(ToString::to_string).collect();
    match unusable.into_iter().next() {
        Some(first) if scores.is_empty() => Err(first),
        None if scores.is_empty() && not_scored > 0 => Err(EvalError::Stopped),
        _ => Ok(SuiteReport {
            unusable: reasons,
            not_scored,
            ablations: options.ablations.then(|| ablations.means()),
            ..SuiteReport::new(scores)
        }),
    }
}

/// The names of the bundles of a folder.
pub(crate) fn cases_of(dir: &Path) -> Result<Vec<String>, EvalError> {
    Ok(list(dir)?.cases)
}

/// What a folder holds.
struct Folder {
    /// The names of bundles.
    cases: Vec<String>,
    /// The names of folders that are none.
    left_out: Vec<String>,
    /// Truths without a bundle, in words.
    orphans: Vec<String>,
}

fn list(dir: &Path) -> Result<Folder, EvalError> {
    let mut folder = Folder { cases: Vec::new(), left_out: Vec::new(), orphans: Vec::new() };
    for path in list_folder(dir)? {
        let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
        if !path.is_dir() {
            let bundle = name.strip_suffix(TRUTH_SUFFIX).map(|stem| dir.join(stem));
            if let Some(bundle) = bundle.filter(|bundle| !bundle.is_dir()) {
                let reason = format!("its bundle {} is missing", bundle.display());
                folder.orphans.push(EvalError::file(&path, reason).to_string());
            }
            continue;
        }
        let has_truth =
            dir.join(format!("{name}{TRUTH_SUFFIX}")).exists() || SuiteCase::is_closed(dir, &name);
        let is_case = has_truth || path.join("bundle.json").exists();
        if is_case { folder.cases.push(name) } else { folder.left_out.push(name) }
    }
    if folder.cases.is_empty() {
        let expected = "folders with a bundle, each with NAME.truth.json beside it";
        return Err(FileError::nothing(dir, expected).into());
    }
    Ok(folder)
}
