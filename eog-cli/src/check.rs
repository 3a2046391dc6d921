//! `eog check`: whether a configuration, a bundle or a snapshot can be used, and what live sources offer.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;

use eog::Timestamp;
use eog_report::clean::clean;
use eog_report::words;
use eog_session::judge::{Options, Settings};
use eog_session::source::{Kind, OfServers, Opened, ReadOptions, open_folder};
use eog_sources::{CaptureError, SourceConfig};

use crate::args::Check;
use crate::bundle_files::BundleFiles;
use crate::error::{CliError, Exit, about_starts};
use crate::runtime::runtime;
use crate::{files, strangers};

/// Most notes of a folder that are shown.
const MAX_NOTES: usize = 20;

/// `eog check`.
pub(crate) fn run(arguments: &Check) -> Result<Exit, CliError> {
    let file = arguments.file.as_path();
    if file.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        let reason = "there is no such file or folder; give a configuration, or the folder of a \
                      bundle or a snapshot (`eog init` writes configurations and empty bundles)";
        return Err(CliError::Input { path: file.to_owned(), reason: reason.to_owned() });
    }
    if file.is_file() && is_settings(file) {
        return settings(file);
    }
    #[cfg(feature = "serve")]
    if std::fs::read_to_string(file).is_ok_and(|text| eog_oncall::Config::is_one(&text)) {
        let config = eog_oncall::Config::read(file)?;
        return good(file, &config.in_words());
    }
    #[cfg(not(feature = "serve"))]
    if std::fs::read_to_string(file).is_ok_and(|text| is_on_call(&text)) {
        return Err(CliError::not_built("the service on call", "serve"));
    }
    match Kind::of(file)? {
        Kind::Live => live(file, arguments.offline),
        Kind::Servers => {
            OfServers::check(file)?;
            good(file, "a configuration of MCP servers; no server was started")
        }
        kind @ (Kind::Bundle | Kind::Snapshot) => folder(file, kind),
    }
}

/// Whether a file is one of settings: it has a key of theirs, and none of a source.
fn is_settings(file: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(file) else { return false };
    let is_named = file.file_name().is_some_and(|name| name == "eog.toml");
    let keys = ["policy", "bootstrap", "finalize", "prompts", "llm", "roles"];
    let begins = |line: &str| {
        let line = line.trim_start_matches('[').trim_start();
        keys.iter().any(|key| {
            line.strip_prefix(key)
                .is_some_and(|rest| rest.trim_start().starts_with(['=', '.', ']']))
        })
    };
    is_named || !SourceConfig::is_one(&text) && text.lines().any(begins)
}

/// Whether a file is one of a service on call, which names its sources.
#[cfg(not(feature = "serve"))]
fn is_on_call(text: &str) -> bool {
    let names = |line: &str| {
        let rest = line.trim_start().strip_prefix("source");
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    text.lines().any(names)
}

fn settings(file: &Path) -> Result<Exit, CliError> {
    let options = Options { config: Some(file.to_owned()), ..Options::default() };
    Settings::load(&options)?;
    good(file, "settings; `eog doctor` shows the result with keys and variables")
}

fn live(file: &Path, offline: bool) -> Result<Exit, CliError> {
    let config = SourceConfig::read(file).map_err(CaptureError::from)?;
    if offline {
        let sources = config.sources().join(", ");
        return good(
            file,
            &format!("a configuration of live sources: {sources}; none was queried"),
        );
    }
    let offers = runtime()?.block_on(eog_sources::offers(&config, Timestamp::now()))?;
    let (mut text, mut is_wrong) = (String::new(), false);
    for offer in &offers {
        // Writing to a text cannot fail.
        let _ = match &offer.found {
            Ok(lines) => {
                let _ = writeln!(text, "✓ {} at {}", offer.source, clean(&offer.place));
                lines.iter().try_for_each(|line| writeln!(text, "    {}", clean(line)))
            }
            Err(reason) => {
                is_wrong = true;
                let place = clean(&offer.place);
                writeln!(text, "✗ {} at {place}\n    {}", offer.source, clean(reason))
            }
        };
    }
    files::print(&text)?;
    Ok(if is_wrong { Exit::BadInput } else { Exit::Diagnosed })
}

fn folder(path: &Path, kind: Kind) -> Result<Exit, CliError> {
    let opened: Opened = open_folder(path, &ReadOptions::default())?;
    let incident = opened.incident();
    let (is_usable, case) = (incident.unusable.is_empty(), opened.case(None));
    let what = if kind == Kind::Bundle { "a bundle" } else { "a snapshot" };
    let strangers = (kind == Kind::Bundle).then(|| strangers::in_words(incident)).flatten();
    let mark = match (is_usable, &strangers) {
        (false, _) => "✗ some of it cannot be used:",
        (true, None) => "✓",
        (true, Some(_)) => "!",
    };
    let mut text = format!(
        "{mark} {}: {what} of {}, {}, {}\n",
        clean(&path.display().to_string()),
        words::count(incident.anomalies.len() as u64, "alert", "alerts"),
        words::count(incident.changes.len() as u64, "change", "changes"),
        words::count(incident.topology.entities().count() as u64, "entity", "entities"),
    );
    if let Some(warning) = strangers {
        let _ = writeln!(text, "    warning: {warning}");
    }
    if kind == Kind::Bundle {
        let _ = writeln!(text, "    {}", clean(&BundleFiles::of(path).in_words()));
    }
    if let Some(observed) = incident.observed {
        let _ = writeln!(text, "    recorded from {} to {}", observed.start(), observed.end());
    } else {
        text.push_str("    no metrics, events, logs or spans\n");
    }
    if let Err(error) = &case {
        let _ = writeln!(
            text,
            "    note: it cannot be investigated yet: {}{}",
            clean(&error.to_string()),
            about_starts(path)
        );
    }
    if incident.topology.entities().len() == 0 && !incident.anomalies.is_empty() {
        text.push_str(
            "    note: it declares no entities: an investigation evaluates those with alerts, and \
             others only if evidence names them\n",
        );
    }
    // The start of an investigation says more of times than the reader does.
    let warnings = case.map_or_else(|_| incident.warnings.clone(), |case| case.bootstrap.warnings);
    for note in warnings.iter().take(MAX_NOTES) {
        let _ = writeln!(text, "    note: {}", clean(note));
    }
    if let Some(more) = warnings.len().checked_sub(MAX_NOTES).filter(|more| *more > 0) {
        let _ = writeln!(text, "    and {}", words::count(more as u64, "more note", "more notes"));
    }
    files::print(&text)?;
    Ok(if is_usable { Exit::Diagnosed } else { Exit::BadInput })
}

fn good(file: &Path, what: &str) -> Result<Exit, CliError> {
    files::print(&format!("✓ {}: {what}\n", clean(&file.display().to_string())))?;
    Ok(Exit::Diagnosed)
}
