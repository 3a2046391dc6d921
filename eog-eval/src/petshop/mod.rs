//! The PetShop data set: incidents of a microservice shop, with metrics, call graph and cause.
//!
//! A data set is a folder with `graph.csv`, `noissue/metrics.csv`, and any number of issues: folders
//! with `metrics.csv` and `target.json`, at any depth. What an issue's folder is called, its
//! `metadata` and its `root_cause` never reach a bundle.

mod bundle;
mod read;
mod slices;

use std::path::{Path, PathBuf};

use eog_evidence::BundleWriter;

pub use bundle::{issue_bundle, percentiles_left_out};
pub use read::{Column, PetShop, Table, Target};
pub use slices::{SLICE_ROWS, SLICE_STEP, normal_slices};

use crate::error::EvalError;
use crate::suite::{
    Options, Progress, SuiteCase, SuiteReport, TRUTH_SUFFIX, Truth, evaluate_cases,
};

/// One case as a bundle, with its truth apart.
#[derive(Clone, Debug)]
pub struct PetShopCase {
    /// Where it was read from.
    pub folder: PathBuf,
    /// The incident.
    pub bundle: BundleWriter,
    /// Its cause, for the scoring alone; the group is the metric of the alert.
    pub truth: Truth,
}

/// The issues of a data set as bundles, by folder.
///
/// # Errors
/// [`EvalError`] when a file is missing or malformed, or there is no issue.
pub fn cases(dir: &Path) -> Result<Vec<PetShopCase>, EvalError> {
    let shop = PetShop::read(dir)?;
    let mut cases = Vec::new();
    for (number, folder) in shop.issues.iter().enumerate() {
        let name = format!("case {}", number + 1);
        let target = Target::read(&folder.join("target.json"))?;
        let table = Table::read(&folder.join("metrics.csv"))?;
        let bundle = issue_bundle(&shop, &name, &target, &table, &shop.normal)?;
        let causes = read::root_cause(&folder.join("target.json"))?;
        let truth = Truth { causes: [causes].into(), group: target.metric, ..Truth::default() };
        cases.push(PetShopCase { folder: folder.clone(), bundle, truth });
    }
    Ok(cases)
}

/// Writes every issue of a data set as `case-N` with `case-N.truth.json` beside it: a folder that
/// [`suite::evaluate`](crate::suite::evaluate) reads. Returns how many there are.
///
/// # Errors
/// [`EvalError`] when a file cannot be read or written.
pub fn convert(dir: &Path, out: &Path) -> Result<usize, EvalError> {
    let cases = cases(dir)?;
    for (number, case) in cases.iter().enumerate() {
        let name = format!("case-{:03}", number + 1);
        let folder = out.join(&name);
        case.bundle.write(&folder).map_err(|error| EvalError::file(&folder, error))?;
        case.truth.write(&out.join(format!("{name}{TRUTH_SUFFIX}")))?;
    }
    Ok(cases.len())
}

/// Investigates and scores every issue of a data set, and slices of its normal period. `progress` is called
/// before each case.
///
/// # Errors
/// [`EvalError`] when a file is missing or malformed, or there is no issue.
pub fn evaluate(
    dir: &Path,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<SuiteReport, EvalError> {
    let cases = all(dir)?;
    let count = cases.len();
    evaluate_cases(cases.into_iter().map(Ok), count, options, progress)
}

/// Every issue of a data set, then slices of its normal period.
pub(crate) fn all(dir: &Path) -> Result<Vec<SuiteCase>, EvalError> {
    let (issues, slices) = (cases(dir)?, normal_slices(dir)?);
    let issues = issues.into_iter().map(|case| SuiteCase {
        name: case.folder.strip_prefix(dir).unwrap_or(&case.folder).display().to_string(),
        bundle: case.bundle.to_bundle(),
        truth: case.truth,
        truth_file: Some(case.folder.join("target.json")),
        // No change is on record in this data set.
        knocked_out: None,
    });
    Ok(issues.chain(slices).collect())
}
