//! In place of language models, in builds without them: asking for one is refused.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use eog::{Budget, Case, Purse};
use serde::Deserialize;

use super::settings::{Env, Options, Settings};
use super::{ForRun, Judge, JudgeError};

/// The section `[llm]` of a file that other builds read, too. Of it only counts whether a model is asked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LlmConfig {
    pub(super) finalize_model: Option<String>,
    #[serde(flatten)]
    _rest: BTreeMap<String, toml::Value>,
}

/// Models that cannot be asked.
#[derive(Clone, Debug)]
pub(super) struct Asked(Infallible);

fn refused() -> JudgeError {
    JudgeError::NotBuilt { what: "language models", feature: "models" }
}

pub(super) fn overridden(options: &Options, _env: Env<'_>, mut llm: LlmConfig) -> LlmConfig {
    if let Some(model) = &options.finalize_model {
        llm.finalize_model = Some(model.clone());
    }
    llm
}

pub(super) fn name(_llm: &LlmConfig) -> String {
    "llm:".to_owned()
}

pub(super) fn of_roles(_settings: &Settings) -> String {
    String::new()
}

pub(super) fn idle(_settings: &Settings) -> Vec<String> {
    Vec::new()
}

pub(super) fn most_calls(_llm: &LlmConfig) -> Option<u64> {
    None
}

pub(super) fn budget(_settings: &Settings) -> Result<Budget, JudgeError> {
    Err(refused())
}

impl Asked {
    pub(super) fn prompts_digest(&self) -> String {
        match self.0 {}
    }

    /// # Errors
    /// [`JudgeError::NotBuilt`] always.
    pub(super) fn of(_settings: &Settings) -> Result<Self, JudgeError> {
        Err(refused())
    }

    pub(super) fn identity(&self, _settings: &Settings, _case: &Case) -> String {
        match self.0 {}
    }

    pub(super) fn judge(
        &self,
        _settings: &Settings,
        _purse: Option<&Arc<dyn Purse>>,
        _run: &ForRun<'_>,
    ) -> Result<Box<dyn Judge>, JudgeError> {
        match self.0 {}
    }
}
