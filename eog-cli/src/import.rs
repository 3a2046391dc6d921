//! `eog import`: files as people have them, as an incident in a folder.

use std::fmt::Write as _;

use eog_report::clean::clean;
use eog_sources::{FileAccount, ImportOptions, ImportReport};

use crate::args::Import;
use crate::error::{CliError, Exit};
use crate::files;
use crate::interrupt::EndsAtOnce;
use crate::progress::Progress;

/// `eog import`.
pub(crate) fn run(arguments: &Import) -> Result<Exit, CliError> {
    let out = arguments.out.as_path();
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned());
    let options = ImportOptions {
        name: arguments.name.clone().or(name).unwrap_or_else(|| "import".to_owned()),
        window: arguments.window,
        entity: arguments.entity.clone(),
    };
    let progress = Progress::start(arguments.quiet);
    progress.say("reading files");
    let report = {
        // Files are read in one go.
        let _ends = EndsAtOnce::with(progress.bar());
        eog_sources::import(&arguments.files, &options, out)?
    };
    drop(progress);
    files::print(&summary(&report, arguments))?;
    let is_whole = report.files.iter().all(FileAccount::is_whole) && report.capture.is_whole();
    Ok(if arguments.strict && !is_whole { Exit::BadInput } else { Exit::Diagnosed })
}

fn summary(report: &ImportReport, arguments: &Import) -> String {
    let mut text = String::new();
    for file in &report.files {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}", clean(&file.in_words()));
    }
    let capture = &report.capture;
    let counts = capture.counts.iter().map(|(what, count)| format!("{count} {what}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let (start, end) = (capture.captured.start(), capture.captured.end());
    let _ = writeln!(text, "{}: {counts}, from {start} to {end}", arguments.out.display());
    let of_files: Vec<String> = report.files.iter().map(FileAccount::in_words).collect();
    for missing in capture.missing.iter().filter(|missing| !of_files.contains(missing)) {
        let _ = writeln!(text, "  missing: {}", clean(missing));
    }
    for note in &capture.notes {
        let _ = writeln!(text, "  note: {}", clean(note));
    }
    let out = eog_report::shell_word(&arguments.out.display().to_string());
    let _ = writeln!(text, "then: eog investigate {out}");
    text
}
