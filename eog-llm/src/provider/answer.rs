//! An answer, read from the stream of a provider.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog_prompts::{ChatError, ChatErrorKind, ChatResponse, Finish, TokenUsage};
use futures_util::StreamExt;
use genai::chat::{
    ChatFrameSink, ChatStream, ChatStreamEvent, FrameCtx, RawFrameRef, StopReason, StreamEnd, Usage,
};
use serde_json::Value;

use super::error::Errors;

/// Reads one answer.
pub(super) struct Collector<'a> {
    errors: &'a Errors,
    most_bytes: usize,
    frames: Arc<Frames>,
    text: String,
}

impl<'a> Collector<'a> {
    pub(super) fn new(errors: &'a Errors, most_bytes: usize) -> Self {
        Self { errors, most_bytes, frames: Arc::default(), text: String::new() }
    }

    /// What is to see each frame of the stream.
    pub(super) fn frames(&self) -> Arc<dyn ChatFrameSink> {
        Arc::clone(&self.frames) as Arc<dyn ChatFrameSink>
    }

    pub(super) async fn read(mut self, mut stream: ChatStream) -> Result<ChatResponse, ChatError> {
        while let Some(event) = stream.next().await {
            if self.frames.seen().bytes > self.most_bytes {
                return Err(self.too_long());
            }
            match event {
                Ok(ChatStreamEvent::Chunk(chunk)) => self.text.push_str(&chunk.content),
                Ok(ChatStreamEvent::End(end)) => return self.ended(&end),
                Ok(_) => {}
                Err(error) => return self.failed(&error),
            }
        }
        self.broke_off()
    }

    fn ended(self, end: &StreamEnd) -> Result<ChatResponse, ChatError> {
        let refused = self.frames.seen().refused();
        let finish = match &end.captured_stop_reason {
            _ if refused => Finish::Refused,
            Some(StopReason::ContentFilter(_)) => Finish::Refused,
            Some(StopReason::MaxTokens(_)) => Finish::Cut,
            Some(_) => Finish::Complete,
            None => return self.broke_off(),
        };
        Ok(self.response(finish, end.captured_usage.as_ref()))
    }

    /// The stream ended without an end.
    fn broke_off(self) -> Result<ChatResponse, ChatError> {
        let (refused, frames) = {
            let seen = self.frames.seen();
            (seen.refused(), seen.frames)
        };
        if refused {
            return Ok(self.response(Finish::Refused, None));
        }
        if !self.text.is_empty() {
            return Ok(self.response(Finish::Cut, None));
        }
        Err(match frames {
            0 => self.errors.of(
                ChatErrorKind::Unreadable,
                "the response is not a stream of events: check base_url, and that the server \
                 supports streaming",
            ),
            _ => self.errors.of(
                ChatErrorKind::Unavailable,
                "the connection was closed before the answer was complete",
            ),
        })
    }

    fn failed(self, error: &genai::Error) -> Result<ChatResponse, ChatError> {
        if self.frames.seen().refused() {
            return Ok(self.response(Finish::Refused, None));
        }
        if !self.text.is_empty() && self.errors.is_broken_connection(error) {
            return Ok(self.response(Finish::Cut, None));
        }
        Err(self.errors.from(error))
    }

    fn too_long(&self) -> ChatError {
        self.errors.of(
            ChatErrorKind::Unreadable,
            &format!(
                "the response is longer than {} bytes and was abandoned: raise \
                 llm.max_response_bytes if such a length is expected",
                self.most_bytes
            ),
        )
    }

    fn response(self, finish: Finish, usage: Option<&Usage>) -> ChatResponse {
        let mut seen = self.frames.seen();
        let text = match (finish, self.text.is_empty()) {
            (Finish::Refused, true) => std::mem::take(&mut seen.refusal),
            _ => self.text,
        };
        let (provider, asked) = self.errors.model.split_once('/').unwrap_or(("", ""));
        let model = seen.model.take().unwrap_or_else(|| asked.to_owned());
        let usage = usage.map(token_usage).unwrap_or_default();
        ChatResponse {
            text,
            finish,
            usage: TokenUsage { calls: 1, ..usage },
            model: format!("{provider}/{model}"),
        }
    }
}

fn token_usage(usage: &Usage) -> TokenUsage {
    let count = |tokens: Option<i32>| u64::try_from(tokens.unwrap_or(0)).unwrap_or(0);
    let (input, output) = (count(usage.prompt_tokens), count(usage.completion_tokens));
    let cached = usage.prompt_tokens_details.as_ref().map_or(0, |it| count(it.cached_tokens));
    let reasoning =
        usage.completion_tokens_details.as_ref().map_or(0, |it| count(it.reasoning_tokens));
    TokenUsage {
        input,
        cached: cached.min(input),
        output,
        reasoning: reasoning.min(output),
        ..TokenUsage::default()
    }
}

/// What `genai` does not report: sizes, refusals, and which model answered.
#[derive(Default)]
struct Frames(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    frames: usize,
    bytes: usize,
    refusal: String,
    blocked: bool,
    model: Option<String>,
}

impl Seen {
    fn refused(&self) -> bool {
        self.blocked || !self.refusal.is_empty()
    }
}

impl Frames {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.seen();
        seen.bytes = seen.bytes.saturating_add(frame.data.len());
        if frame.data.is_empty() {
            return;
        }
        seen.frames += 1;
        let Some(frame) = frame.json() else { return };
        let text = |path: &str| frame.pointer(path).and_then(Value::as_str);
        // OpenAI refuses in a field of its own; Gemini blocks a prompt without any answer.
        if let Some(refusal) = text("/choices/0/delta/refusal") {
            seen.refusal.push_str(refusal);
        }
        seen.blocked |= text("/promptFeedback/blockReason").is_some();
        if seen.model.is_none() {
            let model = text("/model").or_else(|| text("/message/model"));
            let model = model.or_else(|| text("/modelVersion"));
            seen.model = model.filter(|name| name.len() <= 200).map(str::to_owned);
        }
    }
}
