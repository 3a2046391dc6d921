//! A model that answers from a cassette.

use std::sync::Arc;

use eog_core::BoxFuture;
use eog_prompts::{ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, ModelInfo};
use serde::{Deserialize, Serialize};

use super::{Cassette, CassetteError};

/// How a cassette is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CassetteMode {
    /// Every request is sent, and its answer replaces a recorded one.
    Record,
    /// No requests are sent; a request without a recorded answer fails.
    Replay,
    /// Requests that are not recorded are sent and recorded.
    Auto,
}

/// A model that answers from a cassette, or whose answers are recorded in one.
///
/// Answers are returned as they are recorded, that is, with secrets masked: a replay gets the same
/// answers as the run that recorded them, with the same usage, although it costs nothing. Failures
/// are not recorded.
///
/// ```no_run
/// use eog_llm::{Cassette, CassetteModel, Masker};
/// # fn of(info: eog_prompts::ModelInfo) -> Result<(), eog_llm::CassetteError> {
/// let cassette = Cassette::open("traffic.jsonl", Masker::default())?;
/// let model = CassetteModel::replaying(cassette, info);
/// # Ok(())
/// # }
/// ```
pub struct CassetteModel {
    cassette: Cassette,
    info: ModelInfo,
    /// The model to ask, and whether to ask it even for recorded requests.
    live: Option<(Arc<dyn ChatModel>, bool)>,
}

impl CassetteModel {
    /// Answers only from the cassette.
    pub fn replaying(cassette: Cassette, info: ModelInfo) -> Self {
        Self { cassette, info, live: None }
    }

    /// Answers from the cassette or the model, depending on the mode.
    pub fn new(cassette: Cassette, mode: CassetteMode, model: Arc<dyn ChatModel>) -> Self {
        let info = model.info().clone();
        let live = match mode {
            CassetteMode::Replay => None,
            CassetteMode::Record => Some((model, true)),
            CassetteMode::Auto => Some((model, false)),
        };
        Self { cassette, info, live }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let asked = self.cassette.asked(&self.info.name, request);
        let always = matches!(self.live, Some((_, true)));
        if !always
            && let Some(response) = self.cassette.find(&asked).map_err(|e| self.broken(&e))?
        {
            return Ok(response);
        }
        let Some((model, replace)) = &self.live else {
            return Err(self.error(&self.cassette.miss(&asked)));
        };
        let response = model.chat(request).await?;
        self.cassette.record(asked, &response, *replace).map_err(|error| {
            // It was paid for all the same.
            ChatError { usage: response.usage, ..self.broken(&error) }
        })
    }

    fn broken(&self, error: &CassetteError) -> ChatError {
        self.error(&error.to_string())
    }

    fn error(&self, message: &str) -> ChatError {
        ChatError::new(&self.info.name, ChatErrorKind::NotRecorded, message)
    }
}

impl ChatModel for CassetteModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(self.ask(request))
    }
}
