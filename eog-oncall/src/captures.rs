//! Captures of the sources, each a folder of its own.

use std::path::{Path, PathBuf};

use eog_report::clean::clean_up_to;
use eog_sources::{CaptureError, CaptureReport, SentAlert, SourceConfig, Surroundings};
use jiff::Timestamp;

use crate::incident::id;
use crate::service::Shared;

/// Most characters of a reason in a line.
const MAX_REASON: usize = 300;

/// The folder of the capture for a run.
pub(crate) fn of_run(shared: &Shared, number: u64, run: u32) -> PathBuf {
    shared.captures.join(format!("{}-{run}", id(number)))
}

/// The folder of the capture for a check, which is removed after it.
pub(crate) fn of_check(shared: &Shared, number: u64) -> PathBuf {
    shared.captures.join(format!("{}-check", id(number)))
}

/// The latest capture that is kept.
pub(crate) fn latest(captures: &Path) -> Option<PathBuf> {
    let entries = captures.read_dir().ok()?.flatten();
    let made = entries.filter_map(|entry| {
        let manifest = entry.path().join("bundle.json");
        Some((manifest.metadata().ok()?.modified().ok()?, entry.path()))
    });
    made.max().map(|(_, folder)| folder)
}

/// Captures the sources around alerts into a folder, and gives what is said of alerts that are on nothing that is known.
/// A folder that holds a whole capture is left as it is.
///
/// # Errors
/// Why nothing was captured.
pub(crate) async fn capture(
    shared: &Shared,
    title: &str,
    alerts: Vec<SentAlert>,
    into: &Path,
) -> Result<Vec<String>, String> {
    let source = shared.source.clone().called(eog_evidence::shorten(title, 120));
    let into = into.to_owned();
    // A capture borrows what cannot move between threads.
    let runtime = tokio::runtime::Handle::current();
    let desk = shared.desk.clone();
    let made = tokio::task::spawn_blocking(move || {
        let captured = runtime.block_on(captured(&source, &alerts, &into));
        if captured.is_ok() {
            desk.know(Surroundings::of(&source, Some(&into)));
        }
        captured
    });
    made.await.map_err(|error| error.to_string())?
}

async fn captured(
    source: &SourceConfig,
    alerts: &[SentAlert],
    into: &Path,
) -> Result<Vec<String>, String> {
    let without_place =
        |report: &CaptureReport| report.without_place().map(str::to_owned).collect();
    if let Ok(Some(report)) = CaptureReport::of(into) {
        if eog_evidence::Bundle::read(into).is_ok() {
            return Ok(without_place(&report));
        }
        // A crash or the disk has damaged it. What cannot be removed is refused below.
        let _ = std::fs::remove_dir_all(into);
    }
    let begin = || eog_sources::capture_for(source, alerts, None, Timestamp::now(), into, &|_| {});
    let captured = match begin().await {
        // The folder is the service's own. What was begun there before a restart with another
        // configuration or version is not gone on with.
        Err(CaptureError::Folder { .. }) if std::fs::remove_dir_all(into).is_ok() => begin().await,
        captured => captured,
    };
    let report = captured.map_err(|error| error.to_string())?;
    if let Some(first) = report.missing.first() {
        let (count, first) = (report.missing.len(), clean_up_to(first, MAX_REASON));
        tracing::warn!(capture = ?into, missing = count, ?first, "some sources are incomplete");
    }
    Ok(without_place(&report))
}
