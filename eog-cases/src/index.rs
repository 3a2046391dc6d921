//! What a list of cases shows, in one file: ten thousand small files take longer to open than to read.
//!
//! The index is a copy. A case without a row is read itself, so the writer takes a row out before it changes a case, and
//! puts it back afterwards: whatever is interrupted, no row describes a case that is gone.

use std::fs;
use std::io;
use std::path::Path;

use eog::durable::{self, Disk};
use eog::{Confidence, EntityId, Timestamp};
use eog_evidence::Observations;
use serde::{Deserialize, Serialize};

use crate::case::ClosedCase;
use crate::error::CaseError;
use crate::grade::Grade;

/// The name of the file.
pub(crate) const INDEX: &str = "index.json";

/// The largest index that is read.
const MAX_BYTES: u64 = 1 << 30;

/// A case in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Row {
    /// The case.
    pub name: String,
    /// When it was closed.
    pub at: Timestamp,
    /// The person who closed it.
    pub by: String,
    /// What the conclusion was worth.
    pub grade: Grade,
    /// How sure it was.
    pub said: Confidence,
    /// The probability of what it named, in thousandths, where there is one.
    pub probability: Option<u16>,
    /// Whether what it named is right; nothing where it named nothing.
    pub right: Option<bool>,
    /// The entities it named.
    pub named: Vec<EntityId>,
    /// What was true, in a few words.
    pub truth: String,
    /// What it is compared with other incidents by.
    pub observations: Observations,
}

impl Row {
    /// That of a case.
    pub fn of(case: &ClosedCase) -> Self {
        Self {
            name: case.name.clone(),
            at: case.closed.at,
            by: case.closed.by.clone(),
            grade: case.grade,
            said: case.concluded.said,
            probability: case.concluded.probability(),
            right: case.concluded.is_right(&case.truth),
            named: case.concluded.entities().cloned().collect(),
            truth: case.truth.in_words(),
            observations: case.observations.clone(),
        }
    }
}

/// The file: rows by name.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    format: u32,
    cases: Vec<Row>,
}

/// The rows of a folder. Nothing of a file that is missing, damaged or of another format: it is made anew from the cases.
pub(crate) fn read(folder: &Path) -> Vec<Row> {
    let path = folder.join(INDEX);
    let is_readable = path.metadata().is_ok_and(|about| about.len() <= MAX_BYTES);
    let stored = if is_readable { fs::read(&path).unwrap_or_default() } else { Vec::new() };
    let Ok(object) = durable::unsealed(&stored) else { return Vec::new() };
    let index: Index = serde_json::from_slice(&object).unwrap_or_default();
    if index.format == crate::case::FORMAT { index.cases } else { Vec::new() }
}

/// Writes them.
pub(crate) fn write(disk: &dyn Disk, folder: &Path, rows: Vec<Row>) -> Result<(), CaseError> {
    let path = folder.join(INDEX);
    let index = Index { format: crate::case::FORMAT, cases: rows };
    let text = serde_json::to_vec(&index).map_err(|error| CaseError::Write {
        path: path.clone(),
        source: io::Error::other(error),
    })?;
    let temporary = folder.join(".index.new");
    durable::replace(disk, &path, &temporary, &[&durable::sealed(text)])
        .map_err(CaseError::write(&path))
}
