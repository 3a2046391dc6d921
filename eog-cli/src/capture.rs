//! `eog capture`: what live sources say, as an incident in a folder.

use std::fmt::Write as _;

use eog::Timestamp;
use eog_report::clean::clean;
use eog_sources::{CaptureError, CaptureReport, SourceConfig};

use crate::args::Capture;
use crate::error::{CliError, Exit};
use crate::files;
use crate::interrupt::interrupted;
use crate::progress::Progress;
use crate::runtime::runtime;

/// `eog capture`.
pub(crate) fn run(arguments: &Capture) -> Result<Exit, CliError> {
    let config = SourceConfig::read(&arguments.from).map_err(CaptureError::from)?;
    let progress = Progress::start(arguments.quiet);
    let say = |line: &str| progress.say(line);
    let (window, out) = (arguments.window, arguments.out.as_path());
    let capture = eog_sources::capture(&config, window, Timestamp::now(), out, &say);
    let report = runtime()?.block_on(async {
        tokio::select! {
            report = capture => report.map(Some),
            () = interrupted() => Ok(None),
        }
    })?;
    drop(progress);
    let Some(report) = report else {
        eprintln!("eog: interrupted; run the same command again to continue");
        return Ok(Exit::Interrupted);
    };
    files::print(&summary(&report, arguments))?;
    let refused = arguments.strict && !report.is_whole();
    Ok(if refused { Exit::BadInput } else { Exit::Diagnosed })
}

fn summary(report: &CaptureReport, arguments: &Capture) -> String {
    let mut text = String::new();
    let captured = report.captured;
    let counts = report.counts.iter().map(|(what, count)| format!("{count} {what}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let out = arguments.out.display();
    // Writing to a text cannot fail.
    let _ = writeln!(text, "{out}: {} to {}", captured.start(), captured.end());
    let _ = writeln!(text, "  {}", if counts.is_empty() { "nothing" } else { &counts });
    for source in &report.sources {
        let (asked, answered) = (source.asked, source.answered);
        let _ = writeln!(
            text,
            "  {} at {}: {answered} of {asked} queries answered",
            source.source,
            clean(&source.place)
        );
    }
    for missing in &report.missing {
        let _ = writeln!(text, "  missing: {}", clean(missing));
    }
    for note in &report.notes {
        let _ = writeln!(text, "  note: {}", clean(note));
    }
    let _ = writeln!(
        text,
        "then: eog investigate {}",
        eog_report::shell_word(&arguments.out.display().to_string())
    );
    text
}

impl From<CaptureError> for CliError {
    fn from(error: CaptureError) -> Self {
        Self::Capture(error)
    }
}
