//! What traces show of a call of a model, by the semantic conventions for generative AI. No texts.

use eog_prompts::{ChatError, ChatModel, ChatRequest, ChatResponse, Finish};
use tracing::{Instrument as _, field::Empty, info_span};

/// Calls a model within a span.
pub(super) async fn chat(
    model: &dyn ChatModel,
    request: &ChatRequest,
) -> Result<ChatResponse, ChatError> {
    let name = model.info().name.as_str();
    let (provider, model_name) = name.split_once('/').unwrap_or(("", name));
    let span = info_span!(
        "chat",
        otel.name = format!("chat {model_name}"),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider,
        gen_ai.request.model = model_name,
        gen_ai.request.max_tokens = request.max_output_tokens,
        gen_ai.response.model = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        eog.phase = request.phase.as_str(),
        "error.type" = Empty,
    );
    let answer = model.chat(request).instrument(span.clone()).await;
    let usage = match &answer {
        Ok(response) => {
            let answered = response.model.split_once('/').map_or(&*response.model, |(_, it)| it);
            span.record("gen_ai.response.model", answered);
            let finish = match response.finish {
                Finish::Complete => "stop",
                Finish::Cut => "length",
                Finish::Refused => "content_filter",
                _ => "other",
            };
            span.record("gen_ai.response.finish_reasons", finish);
            response.usage
        }
        Err(error) => {
            span.record("error.type", format!("{:?}", error.kind));
            span.record("otel.status_code", "ERROR");
            error.usage
        }
    };
    span.record("gen_ai.usage.input_tokens", usage.input);
    span.record("gen_ai.usage.output_tokens", usage.output);
    answer
}
