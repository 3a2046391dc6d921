//! The words of this program, for agents.

use eog::Diagnosis;
use eog::travel::Explanation;
use eog_mcp::server::Reports;
use eog_report::page::plain;

use crate::told;

/// The words of this program.
pub(super) struct InWords;

impl Reports for InWords {
    fn explanation(&self, diagnosis: &Diagnosis, explanation: &Explanation) -> String {
        plain(&told::explanation(diagnosis, explanation, None))
    }
}
