//! A model of rig as a model of eog.

use eog::BoxFuture;
use eog_prompts::{
    ChatError, ChatErrorKind, ChatMessage, ChatModel, ChatRequest, ChatResponse, Finish, ModelInfo,
    Role, TokenUsage,
};
use rig_core::completion::{CompletionRequest, FinishReason, Message};
use rig_core::driver::DynModel;
use rig_core::error::ProviderError;
use rig_core::operation::Completion;

/// A completion model of rig, whatever its provider.
pub struct RigModel {
    model: DynModel<Completion>,
    info: ModelInfo,
}

impl RigModel {
    /// A model, and how many tokens prompt and answer together, and an answer alone, may have.
    pub fn new(
        model: impl Into<DynModel<Completion>>,
        context_tokens: u32,
        max_output_tokens: u32,
    ) -> Self {
        let model = model.into();
        let id = model.id().unwrap_or("model");
        let info = ModelInfo {
            name: format!("{}/{id}", model.name()),
            context_tokens,
            max_output_tokens,
            tokenizer: id.to_owned(),
            timeout: None,
        };
        Self { model, info }
    }

    fn request(&self, request: &ChatRequest) -> Result<CompletionRequest, ChatError> {
        let messages: Vec<Message> = request.messages.iter().map(message).collect();
        let asked =
            CompletionRequest::from(messages).max_tokens(u64::from(request.max_output_tokens));
        let Some(form) = &request.answer else { return Ok(asked) };
        let mut schema = form.schema.clone();
        // Providers want a name; rig takes it from the title.
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("title".to_owned(), form.name.clone().into());
        }
        let schema = schemars::Schema::try_from(schema)
            .map_err(|error| self.error(ChatErrorKind::NotAccepted, error))?;
        Ok(asked.output_schema(schema))
    }

    fn error(&self, kind: ChatErrorKind, message: impl ToString) -> ChatError {
        ChatError::new(&self.info.name, kind, message.to_string())
    }

    fn failed(&self, error: &ProviderError) -> ChatError {
        let status = error.provider_response_status().map(|status| status.as_u16());
        let kind = match (error, status) {
            (_, Some(429)) => ChatErrorKind::RateLimited,
            (ProviderError::InvalidAuthentication(_), _) => ChatErrorKind::NotAllowed,
            (ProviderError::Json(_) | ProviderError::Response(_), _) => ChatErrorKind::Unreadable,
            _ if error.is_retryable() => ChatErrorKind::Unavailable,
            _ => ChatErrorKind::NotAccepted,
        };
        self.error(kind, error)
    }
}

impl ChatModel for RigModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(async move {
            let asked = self.request(request)?;
            let response = self.model.call(asked).await.map_err(|error| self.failed(&error))?;
            let finish = match response.finish_reason() {
                Some(FinishReason::Length) => Finish::Cut,
                Some(FinishReason::ContentFilter) => Finish::Refused,
                _ => Finish::Complete,
            };
            let used = &response.usage;
            Ok(ChatResponse {
                text: response.text(),
                finish,
                usage: TokenUsage {
                    calls: 1,
                    input: used.input_tokens.unwrap_or(0),
                    cached: used.cached_input_tokens.unwrap_or(0),
                    output: used.output_tokens.unwrap_or(0),
                    reasoning: used.reasoning_tokens.unwrap_or(0),
                    cost_micro_usd: 0,
                },
                model: self.info.name.clone(),
            })
        })
    }
}

fn message(message: &ChatMessage) -> Message {
    match message.role {
        Role::System => Message::system(&message.text),
        Role::User => Message::user(&message.text),
        Role::Assistant => Message::assistant(&message.text),
    }
}
