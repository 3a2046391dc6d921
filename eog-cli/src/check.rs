//! `eog check`: whether a configuration, a bundle or a snapshot can be used, and what live sources offer.

use std::fmt::Write as _;
use std::path::Path;

use eog::Timestamp;
use eog_mcp_client::McpConfig;
use eog_report::clean::clean;
use eog_session::judge::{Options, Settings};
use eog_session::source::{Kind, OpenError, Opened, ReadOptions, open_folder};
use eog_sources::{CaptureError, SourceConfig};

use crate::args::Check;
use crate::error::{CliError, Exit};
use crate::files;
use crate::runtime::runtime;

/// Most notes of a folder that are shown.
const MAX_NOTES: usize = 20;

/// `eog check`.
pub(crate) fn run(arguments: &Check) -> Result<Exit, CliError> {
    let file = arguments.file.as_path();
    if file.is_file() && is_settings(file) {
        return settings(file);
    }
    if std::fs::read_to_string(file).is_ok_and(|text| eog_oncall::Config::is_one(&text)) {
        let config = eog_oncall::Config::read(file)?;
        return good(file, &config.in_words());
    }
    match Kind::of(file)? {
        Kind::Live => live(file, arguments.offline),
        Kind::Servers => {
            McpConfig::read(file).map_err(OpenError::from)?;
            good(file, "a configuration of MCP servers; none of them was started")
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

fn settings(file: &Path) -> Result<Exit, CliError> {
    let options = Options { config: Some(file.to_owned()), ..Options::default() };
    Settings::load(&options)?;
    good(file, "settings; `eog doctor` says what they come to with keys and variables")
}

fn live(file: &Path, offline: bool) -> Result<Exit, CliError> {
    let config = SourceConfig::read(file).map_err(CaptureError::from)?;
    if offline {
        let sources = config.sources().join(", ");
        return good(file, &format!("a configuration of live sources: {sources}; none was asked"));
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
    let what = if kind == Kind::Bundle { "a bundle" } else { "a snapshot" };
    let entities = incident.topology.entities().count();
    let mut text = format!(
        "✓ {}: {what} of {} alerts, {} changes, {entities} entities\n",
        clean(&path.display().to_string()),
        incident.anomalies.len(),
        incident.changes.len(),
    );
    if let Some(observed) = incident.observed {
        let _ = writeln!(text, "    recorded from {} to {}", observed.start(), observed.end());
    }
    if let Err(error) = opened.case(None) {
        let _ = writeln!(
            text,
            "    note: it cannot be investigated yet: {}",
            clean(&error.to_string())
        );
    }
    for note in incident.warnings.iter().take(MAX_NOTES) {
        let _ = writeln!(text, "    note: {}", clean(note));
    }
    if let Some(more) = incident.warnings.len().checked_sub(MAX_NOTES).filter(|more| *more > 0) {
        let _ = writeln!(text, "    and {more} more notes");
    }
    files::print(&text)?;
    opened.all_usable()?;
    Ok(Exit::Diagnosed)
}

fn good(file: &Path, what: &str) -> Result<Exit, CliError> {
    files::print(&format!("✓ {}: {what}\n", clean(&file.display().to_string())))?;
    Ok(Exit::Diagnosed)
}
