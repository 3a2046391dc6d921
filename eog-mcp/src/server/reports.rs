//! Words for what an engine finds beside a result.

use eog::travel::Explanation;
use eog_core::Diagnosis;

/// Tells people what an engine finds beside a result. Results themselves are told by `eog_report`.
pub trait Reports: Send + Sync {
    /// Why an entity has its label, as plain text.
    fn explanation(&self, diagnosis: &Diagnosis, explanation: &Explanation) -> String;
}
