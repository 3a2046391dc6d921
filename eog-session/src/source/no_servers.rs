//! In place of MCP servers as a source, in builds without MCP.

use std::convert::Infallible;
use std::path::Path;

use eog::{BoxFuture, ContextRequest, Failure, LocalContext};
use eog_evidence::Incident;

use super::{OpenError, ReadOptions, Source};

/// Servers that cannot be started.
pub struct OfServers(Infallible);

impl OfServers {
    /// Refuses.
    ///
    /// # Errors
    /// [`OpenError::NoMcp`] always.
    pub fn check(path: &Path) -> Result<(), OpenError> {
        Err(OpenError::NoMcp { path: path.to_owned() })
    }

    /// Refuses.
    ///
    /// # Errors
    /// [`OpenError::NoMcp`] always.
    pub async fn open(path: &Path, _options: &ReadOptions) -> Result<Self, OpenError> {
        Err(OpenError::NoMcp { path: path.to_owned() })
    }
}

impl Source for OfServers {
    fn incident(&self) -> &Incident {
        match self.0 {}
    }

    fn context<'a>(
        &'a self,
        _request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        match self.0 {}
    }
}
