//! Reports in the forms that commands print and write.

use std::path::Path;

use eog_page::Charts;
use eog_report::{Report, RunFigures, Step};
use eog_session::run::Ended;
use eog_session::source::Opened;

use crate::args::Format;
use crate::files;
use crate::shown::clean_line;

/// The report of a run that was made just now, with its figures, which its ledger does not have.
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

/// The report in one of the formats. `verbose`: with everything, where the format has a choice; `out`: the folder that
/// has everything.
pub(crate) fn render(report: &Report, format: Format, verbose: bool, out: Option<&Path>) -> String {
    match format {
        Format::Text if verbose => eog_report::text(report, files::terminal_width()),
        Format::Text => {
            let short = eog_report::short(report, files::terminal_width());
            match out {
                Some(folder) => {
                    let page = folder.join("report.html").display().to_string();
                    format!("{short}Everything else: {} and beside it.\n", clean_line(&page))
                }
                None => format!("{short}Everything else: --verbose, or --out DIR.\n"),
            }
        }
        Format::Markdown => eog_report::markdown(report),
        Format::Json => eog_report::json(report),
        Format::Dot => eog_report::dot(report),
        Format::Mermaid => eog_report::mermaid(report),
    }
}

/// The page of a report, with charts where the source is at hand.
pub(crate) fn page(report: &Report, steps: &[Step], source: Option<&Opened>) -> String {
    let charts = source.map_or(Charts::NoSource, |source| {
        Charts::of(report, |finding, window| source.chart(finding, window))
    });
    eog_page::html(report, steps, &charts)
}
