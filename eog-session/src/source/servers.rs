//! MCP servers as a source.

use std::path::Path;

use eog::incident::CaseFile;
use eog::{BoxFuture, Case, ContextContract, ContextRequest, Failure, LocalContext};
use eog_evidence::{Incident, case_file};
use eog_mcp_client::{McpConfig, McpSource};

use super::{Kind, OpenError, ReadOptions, Source};

/// Servers that were started and have described an incident. They end with it.
pub struct OfServers {
    incident: Incident,
    contract: Box<dyn ContextContract>,
}

impl OfServers {
    /// Reads the file that names servers, and starts none.
    ///
    /// # Errors
    /// [`OpenError`] when the file cannot be used.
    pub fn check(path: &Path) -> Result<(), OpenError> {
        McpConfig::read(path)?;
        Ok(())
    }

    /// Starts the servers that a file names, and asks them for the incident.
    ///
    /// # Errors
    /// [`OpenError`] when the file or a server cannot be used, or an architecture is named beside it.
    pub async fn open(path: &Path, options: &ReadOptions) -> Result<Self, OpenError> {
        if options.architecture.is_some() {
            let (path, kind) = (path.to_owned(), Kind::Servers);
            return Err(OpenError::NeedsNoArchitecture { path, kind });
        }
        let config = McpConfig::read(path)?.reading(options.clone());
        let (incident, contract) = McpSource::open(config).await?;
        Ok(Self { incident, contract })
    }
}

impl Source for OfServers {
    fn incident(&self) -> &Incident {
        &self.incident
    }

    fn context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        self.contract.get_context(request)
    }

    /// From what the servers said at the start: each context would be several requests to them.
    fn case_file<'a>(&'a self, case: &'a Case) -> BoxFuture<'a, CaseFile> {
        Box::pin(async move { case_file(case, &self.incident, []) })
    }
}
