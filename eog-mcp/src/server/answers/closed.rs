//! A case that was made of an investigation.

use eog_cases::ClosedCase;
use schemars::JsonSchema;
use serde::Serialize;

/// An incident that was closed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::server) struct Closed {
    /// The name of the case.
    pub(in crate::server) case: String,
    /// What the conclusion was worth: `exact`, `path wrong`, `partial`, `abstained` or `wrong`.
    pub(in crate::server) grade: String,
    /// What was concluded.
    pub(in crate::server) concluded: String,
    /// What was true.
    pub(in crate::server) truth: String,
    /// Whether the incident was kept, so that it can be investigated again.
    pub(in crate::server) kept_incident: bool,
}

impl Closed {
    pub(in crate::server) fn new(case: &ClosedCase) -> Self {
        Self {
            case: case.name.clone(),
            grade: case.grade.to_string(),
            concluded: case.concluded.in_words(),
            truth: case.truth.in_words(),
            kept_incident: case.folder.is_some(),
        }
    }

    pub(in crate::server) fn in_words(&self) -> String {
        let Self { case, grade, concluded, truth, .. } = self;
        format!("{case}: {grade}\nconcluded: {concluded}\ntrue: {truth}")
    }
}
