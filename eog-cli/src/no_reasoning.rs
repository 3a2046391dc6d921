//! In place of a model that scores reasons, in builds without language models.

use std::convert::Infallible;

use eog_eval::itbench::{CauseToJudge, Judged, ReasoningJudge};

use crate::args::OfJudge;
use crate::error::CliError;
use crate::progress::Progress;

/// A model that cannot be asked.
pub(crate) struct ModelJudge(Infallible);

impl ModelJudge {
    pub(crate) fn choose(
        options: &OfJudge,
        _progress: &Progress,
    ) -> Result<Option<Self>, CliError> {
        match options.judge {
            None => Ok(None),
            Some(_) => Err(CliError::not_built("language models", "models")),
        }
    }
}

impl ReasoningJudge for ModelJudge {
    fn name(&self) -> String {
        match self.0 {}
    }

    fn judge(&self, _causes: &[CauseToJudge]) -> Result<Vec<Judged>, String> {
        match self.0 {}
    }
}
