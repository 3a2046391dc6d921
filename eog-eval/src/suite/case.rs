//! One case of a suite.

use std::path::{Path, PathBuf};

use eog_evidence::Bundle;

use super::truth::{TRUTH_SUFFIX, Truth};
use crate::error::EvalError;

/// An incident and its causes.
#[derive(Clone, Debug)]
pub struct SuiteCase {
    /// What it is called.
    pub name: String,
    /// The incident.
    pub bundle: Bundle,
    /// Its causes, for the scoring alone.
    pub truth: Truth,
    /// The file that the causes were read from, for notes.
    pub truth_file: Option<PathBuf>,
}

impl SuiteCase {
    /// A case whose causes were not read from a file.
    pub fn new(name: impl Into<String>, bundle: Bundle, truth: Truth) -> Self {
        Self { name: name.into(), bundle, truth, truth_file: None }
    }

    /// Reads the bundle of this name and the truth beside it.
    pub(super) fn read(dir: &Path, name: &str) -> Result<Self, EvalError> {
        let path = dir.join(name);
        let truth_file = dir.join(format!("{name}{TRUTH_SUFFIX}"));
        let bundle = Bundle::read(&path).map_err(|error| EvalError::file(&path, error))?;
        let truth = Truth::read(&truth_file)?;
        Ok(Self { name: name.to_owned(), bundle, truth, truth_file: Some(truth_file) })
    }
}
