//! Words for what an engine finds beside a result.

use eog::Ledger;
use eog::travel::{Difference, Explanation};
use eog_core::Diagnosis;

/// Tells people what an engine finds beside a result. Results themselves are told by `eog_report`.
pub trait Reports: Send + Sync {
    /// Why an entity has its label, as plain text.
    fn explanation(&self, diagnosis: &Diagnosis, explanation: &Explanation) -> String;

    /// How two ledgers compare, as plain text without a final newline.
    fn difference(&self, difference: &Difference, first: &Ledger, second: &Ledger) -> String;
}
