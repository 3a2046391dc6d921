//! `eog report`: the report of a ledger, printed or as one HTML page.

use eog_report::Report;

use crate::args::HtmlReport;
use crate::error::{CliError, Exit};
use crate::progress::Progress;
use crate::reports::{page, render};
use crate::source::Input;
use crate::{cases, files, travel};

/// `eog report`.
pub(crate) fn run(arguments: &HtmlReport) -> Result<Exit, CliError> {
    let read = travel::read(&arguments.ledger)?;
    let finished = travel::restore(&read)?;
    let progress = Progress::start(false);
    let architecture = arguments.architecture.as_deref();
    let open = |path| {
        let input = Input::of(path, &arguments.reading)?;
        input.refuse_unfinished(&read.path)?;
        travel::open(&progress, &read, input, architecture, &arguments.reading, None)
    };
    let opened = arguments.path.as_deref().map(open).transpose()?;
    drop(progress);
    let called = opened.as_ref().map_or_else(|| read.name(), |it| it.incident().name.clone());
    let mut report = Report::new(called, finished.diagnosis());
    report.lookup =
        opened.as_ref().and_then(|it| travel::lookup_of(it, &report.diagnosis, architecture));
    report.similar = cases::like(&arguments.history, &read.ledger, &report.diagnosis)?;
    match &arguments.html {
        Some(file) => files::write_file(file, &page(&report, &finished.steps(), opened.as_ref()))?,
        None => files::print(&render(&report, arguments.format, arguments.verbose, None))?,
    }
    Ok(Exit::Diagnosed)
}
