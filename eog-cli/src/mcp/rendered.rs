//! The reports of this program, for agents.

use eog::travel::Explanation;
use eog_mcp::server::Reports;
use eog_prompts::Narrative;
use eog_session::controllers::AnyFinished;

use crate::report::{self, Report};

/// The reports of this program.
pub(super) struct Rendered;

fn report(name: &str, finished: &AnyFinished, told: Option<&Narrative>) -> Report {
    let AnyFinished::Eog(finished) = finished;
    let mut report = Report::new(name.to_owned(), finished);
    if let Some(narrative) = told {
        report.narrative = narrative.clone();
    }
    report
}

impl Reports for Rendered {
    fn text(&self, name: &str, finished: &AnyFinished, told: Option<&Narrative>) -> String {
        plain(&report::text(&report(name, finished, told), None))
    }

    fn markdown(&self, name: &str, finished: &AnyFinished, told: Option<&Narrative>) -> String {
        report::markdown(&report(name, finished, told))
    }

    fn dot(&self, name: &str, finished: &AnyFinished) -> String {
        report::dot(&report(name, finished, None))
    }

    fn mermaid(&self, name: &str, finished: &AnyFinished) -> String {
        report::mermaid(&report(name, finished, None))
    }

    fn explanation(&self, name: &str, finished: &AnyFinished, explanation: &Explanation) -> String {
        plain(&report::explanation(&report(name, finished, None), explanation, None))
    }
}

/// Without colours, which are for terminals.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
