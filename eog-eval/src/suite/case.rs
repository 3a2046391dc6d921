//! One case of a suite.

use std::path::{Path, PathBuf};

use eog::EntityId;
use eog_cases::{CaseFolder, INCIDENT, pack};
use eog_evidence::Bundle;
use tempfile::TempDir;

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
        let closed = Self::is_closed(dir, name).then(|| Closed::read(dir, name)).transpose()?;
        let path = closed.as_ref().map_or_else(|| dir.join(name), |it| it.bundle.clone());
        let truth_file = dir.join(format!("{name}{TRUTH_SUFFIX}"));
        let read = |path: &Path| Bundle::read(path).map_err(|error| EvalError::file(path, error));
        let (bundle, truth, truth_file) = match &closed {
            Some(closed) => (read(&path)?, closed.truth.clone(), dir.join(name).join("case.json")),
            None => (read(&path)?, Truth::read(&truth_file)?, truth_file),
        };
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

    /// Whether it is an incident that `eog close` has closed.
    pub(super) fn is_closed(dir: &Path, name: &str) -> bool {
        dir.join(name).join("case.json").is_file()
    }
}

/// The incident of a closed case, unpacked.
struct Closed {
    truth: Truth,
    bundle: PathBuf,
    /// Removed when it is dropped.
    _folder: TempDir,
}

impl Closed {
    fn read(dir: &Path, name: &str) -> Result<Self, EvalError> {
        let place = dir.join(name);
        let failed = |reason: String| EvalError::file(&place, reason);
        let folder = CaseFolder::open(dir).map_err(|error| failed(error.to_string()))?;
        let case = folder.case(name).map_err(|error| failed(error.to_string()))?;
        let bytes = folder.file(&case, INCIDENT).map_err(|error| failed(error.to_string()))?;
        let into = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
        let unpacked =
            pack::unpack(&bytes, case.folder.as_deref().unwrap_or_default(), into.path());
        let unpacked = unpacked.map_err(|error| failed(format!("{INCIDENT}: {error}")))?;
        let outside = case.truth.not_in_topology.iter().filter_map(|it| EntityId::new(it).ok());
        let truth = Truth {
            causes: case.truth.causes.iter().cloned().chain(outside).collect(),
            ..Truth::default()
        };
        Ok(Self { truth, bundle: unpacked.folder, _folder: into })
    }
}
