//! `agent_output.json`: the output schema of the paper's appendix A.3.

use super::model::Report;

/// The narrative in the schema of A.3, as indented JSON.
pub(crate) fn agent_output(report: &Report) -> String {
    super::json::pretty(&report.narrative.agent_output())
}
