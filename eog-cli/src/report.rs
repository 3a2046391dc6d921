//! The report of a run that was made just now.

use eog_report::{Report, RunFigures};
use eog_session::run::Ended;

/// With the figures of the run, which its ledger does not have.
pub(crate) fn report_of_run(ended: &mut Ended) -> Report {
    let finished = &ended.finished;
    let speculation = finished.speculation();
    let mut report = Report::new(ended.name.as_str(), finished.diagnosis());
    report.is_unstored = finished.journal_error().is_some();
    report.run = Some(RunFigures {
        early_calls: speculation.early_calls,
        used_calls: speculation.used_calls,
        wasted_calls: speculation.wasted_calls,
        wasted_fetches: speculation.wasted_fetches,
        retries: finished.retries(),
    });
    report.diagnosis.spent.usage += ended.spent_after;
    if let Some(narrative) = ended.narrative.take() {
        report.narrative = narrative;
    }
    report
}
