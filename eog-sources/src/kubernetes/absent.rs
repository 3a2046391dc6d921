//! In place of the client, in builds without live Kubernetes: it cannot be opened.

use std::convert::Infallible;

use serde_json::Value;

use crate::config::Kubernetes as Settings;
use crate::error::{AskError, ConfigError};

#[derive(Clone)]
pub(crate) struct Client(Infallible);

#[derive(Debug)]
pub(super) struct Listed {
    pub(super) cut: Option<String>,
}

impl Client {
    /// # Errors
    /// [`ConfigError`] always: this build has no client.
    pub(super) async fn open(_settings: &Settings) -> Result<Self, ConfigError> {
        Err(ConfigError::new(
            "[kubernetes]",
            "this eog was built without live Kubernetes; build it with --features kube, or full",
        ))
    }

    pub(super) fn place(&self) -> &str {
        match self.0 {}
    }

    pub(super) async fn version(&self) -> Option<String> {
        match self.0 {}
    }

    pub(super) async fn may_list(&self, _path: &str, _metadata_only: bool) -> Result<(), AskError> {
        match self.0 {}
    }

    pub(super) async fn list(
        &self,
        _path: &str,
        _metadata_only: bool,
        _most: usize,
        _take: impl FnMut(Value),
    ) -> Result<Listed, AskError> {
        match self.0 {}
    }
}
