//! A bundle as a source.

use std::path::Path;
use std::sync::Arc;

use eog::{
    BoxFuture, ContextContract as _, ContextRequest, Failure, Finding, LocalContext, Window,
};
use eog_evidence::{Bundle, BundleContext, Chart, FolderHandle, Incident};
use eog_search::Toolset;
use eog_sre::Stop;
use eog_sre::tools::{BundleToolbox, MetricFamily};
use serde_json::Value;

use super::live::add_report;
use super::{AskError, Kind, OpenError, ReadOptions, Source, handle};
use crate::tools::SreTools;

/// A bundle in memory.
#[derive(Clone, Debug)]
pub struct OfBundle {
    incident: Arc<Incident>,
    context: Arc<BundleContext>,
}

impl OfBundle {
    /// A bundle that was read or made.
    pub fn new(bundle: Bundle) -> Self {
        let incident = Arc::new(bundle.incident());
        Self { incident, context: Arc::new(BundleContext::new(bundle)) }
    }

    /// Reads the folder of a bundle.
    ///
    /// # Errors
    /// [`OpenError`] when it cannot be used, or an architecture is named for it.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, OpenError> {
        Self::open_from(&handle(path)?, options)
    }

    /// The same from a folder that is open.
    ///
    /// # Errors
    /// As for [`OfBundle::open`].
    pub fn open_from(folder: &FolderHandle, options: &ReadOptions) -> Result<Self, OpenError> {
        if options.architecture.is_some() {
            let (path, kind) = (folder.called().to_owned(), Kind::Bundle);
            return Err(OpenError::NeedsNoArchitecture { path, kind });
        }
        let is_gone = || options.stop.as_ref().is_some_and(Stop::is_wanted);
        let mut opened = Self::new(Bundle::read_from(folder, options.max_memory, &is_gone)?);
        add_report(folder, Arc::make_mut(&mut opened.incident));
        Ok(opened)
    }

    /// The tools that bundles answer.
    pub fn tools(&self) -> BundleToolbox<'_> {
        BundleToolbox::new(&self.incident, &self.context)
    }
}

impl Source for OfBundle {
    fn incident(&self) -> &Incident {
        &self.incident
    }

    fn chart(&self, finding: &Finding, window: Window) -> Option<Chart> {
        self.context.chart(finding, window)
    }

    fn context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        self.context.get_context(request)
    }

    fn toolsets(&self) -> Vec<Arc<dyn Toolset>> {
        vec![Arc::new(SreTools::of_bundle(self.clone()))]
    }

    fn metrics(&self) -> Vec<MetricFamily> {
        self.tools().metric_families()
    }

    fn ask(&self, tool: &str, arguments: Value) -> Result<String, AskError> {
        Ok(self.tools().call_text(tool, arguments)?)
    }
}
