//! A source that was recorded after an investigation had begun: it knows what came later.

use std::sync::Arc;

use eog::{BoxFuture, Case, ContextRequest, Failure, Finding, LocalContext, Timestamp, Window};
use eog_evidence::{Chart, Incident, StartError};
use eog_search::Toolset;
use eog_sre::tools::{MetricFamily, Toolbox};
use serde_json::Value;

use super::{AskError, Opened, Source};

/// A source whose contexts reach up to a time after the window of the investigation: what was observed
/// since has its evidence there.
pub struct Later {
    source: Opened,
    until: Timestamp,
}

impl Later {
    /// This source, up to the end of the window that it would choose itself.
    ///
    /// # Errors
    /// [`StartError`] when there is nothing in it.
    pub fn new(source: Opened) -> Result<Self, StartError> {
        let until = source.case(None)?.window.end();
        Ok(Self { source, until })
    }

    fn longer(&self, window: Window) -> Window {
        let end = window.end().max(self.until);
        // It only grows.
        Window::new(window.start(), end).unwrap_or(window)
    }
}

impl Source for Later {
    fn incident(&self) -> &Incident {
        self.source.incident()
    }

    fn context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async {
            let longer = ContextRequest { window: self.longer(request.window), ..request.clone() };
            self.source.context(&longer).await
        })
    }

    fn chart(&self, finding: &Finding, window: Window) -> Option<Chart> {
        self.source.chart(finding, self.longer(window))
    }

    fn toolbox(&self) -> Option<&Toolbox> {
        self.source.toolbox()
    }

    fn toolsets(&self) -> Vec<Arc<dyn Toolset>> {
        self.source.toolsets()
    }

    fn metrics(&self) -> Vec<MetricFamily> {
        self.source.metrics()
    }

    fn ask(&self, tool: &str, arguments: Value) -> Result<String, AskError> {
        self.source.ask(tool, arguments)
    }

    fn case(&self, window: Option<Window>) -> Result<Case, StartError> {
        self.source.case(window)
    }
}
