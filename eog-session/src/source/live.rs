//! Live sources: captured into a folder, which is then a source like any other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eog::{BoxFuture, Case, ContextRequest, Failure, Finding, LocalContext, Timestamp, Window};
use eog_evidence::{Chart, FolderHandle, Incident, StartError};
use eog_search::Toolset;
use eog_sources::{CaptureReport, Progress, SourceConfig};
use eog_sre::tools::{MetricFamily, Toolbox};
use serde_json::Value;

use super::{AskError, Kind, OpenError, Opened, ReadOptions, Source, open_folder};

/// How live sources are captured.
#[derive(Clone, Copy)]
pub struct Capturing<'a> {
    /// The window to investigate; by default it is chosen from the alerts.
    pub window: Option<Window>,
    /// What time it is: nothing later is asked for.
    pub now: Timestamp,
    /// The folder to capture into. One that holds a finished capture is used as it is, one that holds
    /// an unfinished capture is gone on with. Without it, a temporary folder is used, which is removed
    /// with the source.
    pub into: Option<&'a Path>,
    /// Receives a line for each step.
    pub progress: Progress<'a>,
}

/// Live sources as they were when they were captured.
pub struct OfLive {
    captured: Opened,
    /// Removes the folder in the end.
    _folder: Option<tempfile::TempDir>,
}

impl OfLive {
    /// Captures what the sources of a configuration say, and opens it.
    ///
    /// # Errors
    /// [`OpenError`] when the configuration cannot be used, no source answers, or what was captured
    /// cannot be read.
    pub async fn open(
        path: &Path,
        options: &ReadOptions,
        capturing: Capturing<'_>,
    ) -> Result<Self, OpenError> {
        let config = SourceConfig::read(path).map_err(eog_sources::CaptureError::from)?;
        let (folder, _folder): (PathBuf, _) = match capturing.into {
            Some(into) => (into.to_owned(), None),
            None => {
                let kept = tempfile::Builder::new().prefix("eog-capture-").tempdir();
                let kept =
                    kept.map_err(|error| OpenError::NoFolder { reason: error.to_string() })?;
                (kept.path().join(config.name()), Some(kept))
            }
        };
        if !matches!(CaptureReport::of(&folder), Ok(Some(_))) {
            let Capturing { window, now, progress, .. } = capturing;
            eog_sources::capture(&config, window, now, &folder, progress).await?;
        }
        Ok(Self { captured: open_folder(&folder, options)?, _folder })
    }
}

impl Source for OfLive {
    fn incident(&self) -> &Incident {
        self.captured.incident()
    }

    fn context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        self.captured.context(request)
    }

    fn chart(&self, finding: &Finding, window: Window) -> Option<Chart> {
        self.captured.chart(finding, window)
    }

    fn toolbox(&self) -> Option<&Toolbox> {
        self.captured.toolbox()
    }

    fn toolsets(&self) -> Vec<Arc<dyn Toolset>> {
        self.captured.toolsets()
    }

    fn metrics(&self) -> Vec<MetricFamily> {
        self.captured.metrics()
    }

    fn ask(&self, tool: &str, arguments: Value) -> Result<String, AskError> {
        self.captured.ask(tool, arguments)
    }

    fn case(&self, window: Option<Window>) -> Result<Case, StartError> {
        // The captured window is that of the input, as it is for readers of the capture.
        self.captured.case(window.filter(|window| self.incident().window != Some(*window)))
    }
}

/// Adds to an incident what the report of its capture says, if it is one.
pub(super) fn add_report(folder: &FolderHandle, incident: &mut Incident) {
    match CaptureReport::from(folder) {
        Ok(Some(report)) => {
            incident.warnings.extend(report.warnings());
            incident.window = incident.window.or(report.window);
            // A snapshot is called by its folder, which says nothing of what was captured.
            incident.name.clone_from(&report.name);
        }
        Ok(None) => {}
        Err(reason) => incident.warnings.push(reason),
    }
}

/// What a file is, by what it says.
pub(super) fn kind_of(file: &Path) -> Kind {
    let is_live = std::fs::read_to_string(file).is_ok_and(|text| SourceConfig::is_one(&text));
    if is_live { Kind::Live } else { Kind::Servers }
}
