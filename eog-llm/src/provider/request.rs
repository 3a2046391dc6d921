//! A request in the words of `genai`, with the settings that the model takes.

use std::sync::Arc;

use eog_prompts::{AnswerForm, ChatMessage, ChatRequest, ModelInfo, Role};
use genai::chat::{
    ChatFrameSink, ChatMessage as Message, ChatOptions, ChatRequest as Request, ChatResponseFormat,
    JsonSpec, ReasoningEffort as Effort,
};

use super::Shape;
use serde_json::json;

use crate::{Capabilities, ReasoningEffort, StructuredOutput, tokens};

/// The settings of a model.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) shape: Shape,
    pub(crate) capabilities: Capabilities,
    pub(crate) seed: u64,
    pub(crate) effort: Option<ReasoningEffort>,
    /// Whether `genai` would read the end of the model's name as an effort, and cut it off.
    pub(crate) effort_in_name: bool,
}

impl Settings {
    /// The conversation. The prompt of each phase has the form of its answer.
    pub(crate) fn conversation(request: &ChatRequest) -> Request {
        Request::from_messages(request.messages.iter().cloned().map(message).collect())
    }

    pub(crate) fn options(
        &self,
        info: &ModelInfo,
        request: &ChatRequest,
        output: StructuredOutput,
        frames: Arc<dyn ChatFrameSink>,
    ) -> ChatOptions {
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_raw_frame_sink_arc(frames)
            .with_max_tokens(tokens::output(info, request));
        if self.capabilities.temperature {
            options =
                options.with_temperature(request.drawn.map_or(0.0, |drawn| drawn.temperature));
        }
        if self.capabilities.seed {
            options = options.with_seed(self.seed);
        }
        if let Some(form) = &request.answer {
            options = self.asking_for(options, form, output);
        }
        match self.effort.filter(|_| self.capabilities.reasoning_effort) {
            Some(effort) => options.with_reasoning_effort(effort_of(effort)),
            // The protocol of OpenAI has no such budget, so nothing is sent, and the name stays.
            None if self.effort_in_name => options.with_reasoning_effort(Effort::Budget(0)),
            None => options,
        }
    }

    fn asking_for(
        &self,
        options: ChatOptions,
        form: &AnswerForm,
        output: StructuredOutput,
    ) -> ChatOptions {
        let carries_object = self.shape.carries().json_object;
        match output {
            StructuredOutput::Strict => {
                options.with_response_format(JsonSpec::new(form.name.clone(), form.schema.clone()))
            }
            StructuredOutput::JsonObjectWithSchema if carries_object => {
                let format = json!({"type": "json_object", "schema": form.schema});
                options.with_extra_body(json!({"response_format": format}))
            }
            StructuredOutput::JsonObject if carries_object => {
                options.with_response_format(ChatResponseFormat::JsonMode)
            }
            _ => options,
        }
    }
}

fn effort_of(effort: ReasoningEffort) -> Effort {
    match effort {
        ReasoningEffort::Minimal => Effort::Minimal,
        ReasoningEffort::Low => Effort::Low,
        ReasoningEffort::Medium => Effort::Medium,
        ReasoningEffort::High => Effort::High,
    }
}

fn message(message: ChatMessage) -> Message {
    match message.role {
        Role::System => Message::system(message.text),
        Role::User => Message::user(message.text),
        Role::Assistant => Message::assistant(message.text),
    }
}
