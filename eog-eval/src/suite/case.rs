//! One case of a suite.

use std::path::{Path, PathBuf};

use eog_evidence::Bundle;

use super::truth::{TRUTH_SUFFIX, Truth};
use crate::error::EvalError;
use crate::knockout::bundle_without_cause;

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
    /// The incident without its causes, where it is to be investigated too.
    pub knocked_out: Option<Bundle>,
}

impl SuiteCase {
    /// A case whose causes were not read from a file.
    pub fn new(name: impl Into<String>, bundle: Bundle, truth: Truth) -> Self {
        Self { name: name.into(), bundle, truth, truth_file: None, knocked_out: None }
    }

    /// Reads the bundle of this name and the truth beside it; for a knock-out, also a copy of the
    /// bundle without the causes, if any of their changes and events are on record.
    pub(crate) fn read(dir: &Path, name: &str, knock_out: bool) -> Result<Self, EvalError> {
        let path = dir.join(name);
        let truth_file = dir.join(format!("{name}{TRUTH_SUFFIX}"));
        let read = |path: &Path| Bundle::read(path).map_err(|error| EvalError::file(path, error));
        let (bundle, truth) = (read(&path)?, Truth::read(&truth_file)?);
        let mut knocked_out = None;
        if knock_out && !truth.causes.is_empty() && !truth.without_change {
            let folder = tempfile::tempdir()
                .map_err(|error| EvalError::file(&std::env::temp_dir(), error))?;
            let copy = folder.path().join("bundle");
            if bundle_without_cause(&path, &truth, &copy)? > 0 {
                knocked_out = Some(read(&copy)?);
            }
        }
        let truth_file = Some(truth_file);
        Ok(Self { name: name.to_owned(), bundle, truth, truth_file, knocked_out })
    }
}
