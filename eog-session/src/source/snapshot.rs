//! A Kubernetes snapshot as a source.

use std::path::Path;
use std::sync::Arc;

use eog::{
    BoxFuture, ContextContract as _, ContextRequest, Failure, Finding, LocalContext, Window,
};
use eog_evidence::{Chart, FolderHandle, Incident};
use eog_sre::tools::Toolbox;
use eog_sre::{Snapshot, SnapshotError};

use super::live::add_report;
use super::{OpenError, ReadOptions, Source, handle};

/// A snapshot in memory, with its graph and its tools. What investigations and tools index is shared.
#[derive(Clone, Debug)]
pub struct OfSnapshot {
    incident: Incident,
    toolbox: Toolbox,
}

impl OfSnapshot {
    /// Reads the folder of a snapshot.
    ///
    /// # Errors
    /// [`OpenError`] when it cannot be used.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, OpenError> {
        Self::open_from(&handle(path)?, options)
    }

    /// The same from a folder that is open.
    ///
    /// # Errors
    /// As for [`OfSnapshot::open`].
    pub fn open_from(folder: &FolderHandle, options: &ReadOptions) -> Result<Self, OpenError> {
        let path = || folder.called().to_owned();
        let read = Snapshot::open_from(folder.clone(), options);
        let snapshot = read.map_err(|error| match error {
            SnapshotError::NothingKnown { .. } => OpenError::NothingKnown { path: path() },
            other => OpenError::Snapshot(other),
        })?;
        let toolbox = Toolbox::new(Arc::new(snapshot));
        let mut incident = toolbox.snapshot().incident(toolbox.graph());
        add_report(folder, &mut incident);
        Ok(Self { incident, toolbox })
    }

    /// The tools over it.
    pub fn tools(&self) -> &Toolbox {
        &self.toolbox
    }
}

impl Source for OfSnapshot {
    fn incident(&self) -> &Incident {
        &self.incident
    }

    fn chart(&self, finding: &Finding, window: Window) -> Option<Chart> {
        self.toolbox.context().chart(finding, window)
    }

    fn context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        self.toolbox.context().get_context(request)
    }

    fn toolbox(&self) -> Option<&Toolbox> {
        Some(&self.toolbox)
    }
}
