//! Calls that a resumed run does not repeat.

use std::sync::{Mutex, PoisonError};

use eog::CallRecorder;
use eog::side::RecordError;
use eog_core::{BoxFuture, Failure, Usage};
use eog_prompts::{
    ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, ModelInfo, TokenUsage,
};

/// A model whose answers are stored before they are used: in a resumed run, a request that was
/// answered before gets the stored answer. Failures are not stored.
///
/// The recorder counts the cost of calls ([`CallRecorder::take_usage`]). So that it is not counted
/// twice, answers and errors of this model have zero usage; the stored record has the usage.
///
/// ```
/// use eog::CallRecorder;
/// use eog_llm::Recorded;
/// # fn of(model: impl eog_prompts::ChatModel) {
/// let model = Recorded::new(model, CallRecorder::in_memory());
/// # }
/// ```
#[derive(Debug)]
pub struct Recorded<M> {
    inner: M,
    recorder: CallRecorder,
}

impl<M: ChatModel> Recorded<M> {
    /// A model behind a recorder.
    pub fn new(inner: M, recorder: CallRecorder) -> Self {
        Self { inner, recorder }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, ChatError> {
        let model = &self.inner.info().name;
        let name = format!("chat {}", request.phase);
        // A failure says less than the error it comes from.
        let failed = Mutex::new(None);
        let ask = async || match self.inner.chat(request).await {
            Ok(response) => {
                let usage = Usage::from(response.usage);
                Ok((response, usage))
            }
            Err(error) => {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
                Err(Failure::from(error))
            }
        };
        match self.recorder.call(&name, &(model, request), ask).await {
            Ok(response) => Ok(ChatResponse { usage: TokenUsage::default(), ..response }),
            Err(error) => {
                let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
                Err(match (error, failed) {
                    (RecordError::Failed { .. }, Some(error)) => {
                        ChatError { usage: TokenUsage::default(), ..error }
                    }
                    (error, _) => {
                        ChatError::new(model, ChatErrorKind::Unreadable, error.to_string())
                    }
                })
            }
        }
    }
}

impl<M: ChatModel> ChatModel for Recorded<M> {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(self.ask(request))
    }
}
