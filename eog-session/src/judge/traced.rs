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
            if !answered.is_empty() {
                span.record("gen_ai.response.model", answered);
            }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use eog_prompts::{ChatErrorKind, ChatMessage, MockModel, Reply, TokenUsage};
    use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// The span of a call that gets a reply.
    fn span_of(reply: Reply) -> SpanData {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let model = MockModel::new("openai/gpt-test").then(reply);
        let request = ChatRequest {
            phase: "explore".to_owned(),
            messages: vec![ChatMessage::user("password=hunter2")],
            answer: None,
            max_output_tokens: 500,
            drawn: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let _ = runtime.block_on(chat(&model, &request));
        });
        let spans = exporter.get_finished_spans().unwrap();
        let [span] = &spans[..] else { panic!("{spans:?}") };
        span.clone()
    }

    fn attributes(span: &SpanData) -> BTreeMap<String, String> {
        span.attributes.iter().map(|it| (it.key.to_string(), it.value.to_string())).collect()
    }

    #[test]
    fn a_call_has_the_attributes_of_the_conventions_and_no_texts() {
        let usage = TokenUsage { calls: 1, input: 120, output: 7, ..TokenUsage::default() };
        let span = span_of(Reply::text("the answer, token=hunter2").using(usage));
        assert_eq!((&*span.name, &span.span_kind), ("chat gpt-test", &SpanKind::Client));
        let of = attributes(&span);
        for (name, expected) in [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "gpt-test"),
            ("gen_ai.request.max_tokens", "500"),
            ("gen_ai.response.finish_reasons", "stop"),
            ("gen_ai.usage.input_tokens", "120"),
            ("gen_ai.usage.output_tokens", "7"),
            ("eog.phase", "explore"),
        ] {
            assert_eq!(of.get(name).map(String::as_str), Some(expected), "{name}: {of:?}");
        }
        assert!(!format!("{span:?}").contains("hunter2"), "{span:?}");
    }

    #[test]
    fn a_call_that_fails_says_why() {
        let span = span_of(Reply::error(ChatErrorKind::NotAllowed, "key sk-hunter2 is wrong"));
        assert!(matches!(span.status, Status::Error { .. }), "{span:?}");
        assert_eq!(attributes(&span)["error.type"], "NotAllowed");
        assert!(!format!("{span:?}").contains("hunter2"), "{span:?}");
    }
}
