//! Words for what the engine finds beside a result: why a label, where two runs part, how far a result
//! depends on the order.

mod difference;
mod explanation;
mod stress;

use eog::Finished;
use eog_report::{Report, RunFigures};

pub(crate) use difference::difference;
pub(crate) use explanation::{explanation, not_judged};
pub(crate) use stress::{Ledgers, stress, stress_json};

/// The report of a run that was made just now.
pub(crate) fn report_of_run(name: String, finished: &Finished) -> Report {
    let speculation = finished.speculation;
    let mut report = Report::new(name, finished.diagnosis());
    report.is_unstored = finished.journal_error.is_some();
    report.run = Some(RunFigures {
        early_calls: speculation.early_calls,
        used_calls: speculation.used_calls,
        wasted_calls: speculation.wasted_calls,
        wasted_fetches: speculation.wasted_fetches,
        retries: finished.retries,
    });
    report
}
