//! Counts the tokens of texts and requests with the tokenizer of the model.

use std::fmt;

use tiktoken::CoreBpe;

use crate::model::{ChatRequest, ModelInfo};

/// The encoding that unknown tokenizers are estimated from.
const DEFAULT_ENCODING: &str = "o200k_base";

/// Unknown tokenizers are assumed to need this many tokens for every [`CAUTION_PER`] of the default.
/// Vocabularies of recent years differ by less on prose, code and telemetry.
const CAUTION: u64 = 7;

/// See [`CAUTION`].
const CAUTION_PER: u64 = 5;

/// Prefixes of model names whose tokenizer is older than the one in the table of models.
const OLDER: [&str; 5] = ["llama-2", "llama2", "mixtral", "mistral-7b", "mistral:7b"];

/// Counts tokens as one model does.
///
/// Counts are exact for encodings known by name (`o200k_base`, `cl100k_base`, `llama3`, `qwen2`,
/// `deepseek_v3`, `mistral_v3`, …) and for models known to use one of them, where the vocabulary is part of the
/// build: a feature of this crate for each family of models, `vocabs-all` for all. Anything else is
/// overestimated: the count of `o200k_base` plus 40 %, but never more than one token per byte, and that
/// where there is no vocabulary at all.
/// Copies are cheap and share one vocabulary per encoding.
///
/// ```
/// use eog_prompts::TokenCounter;
/// let counter = TokenCounter::new("openai/gpt-4o");
/// assert_eq!(counter.encoding(), Some("o200k_base"));
/// assert_eq!(counter.text("hello world"), 2);
/// assert_eq!(TokenCounter::new("unknown/model").encoding(), None);
/// ```
#[derive(Clone, Copy)]
pub struct TokenCounter {
    /// The encoding, if it is known.
    known: Option<&'static str>,
    vocabulary: Option<&'static CoreBpe>,
    frame: Frame,
}

impl TokenCounter {
    /// The counter for a tokenizer, by the name of an encoding or a model. The provider, everything
    /// up to the last `/` of a model's name, is ignored.
    pub fn new(tokenizer: &str) -> Self {
        let known = known_encoding(tokenizer);
        Self {
            // Without its vocabulary counts are estimates.
            known: known.filter(|name| tiktoken::get_encoding(name).is_some()),
            vocabulary: known
                .and_then(tiktoken::get_encoding)
                .or_else(|| tiktoken::get_encoding(DEFAULT_ENCODING)),
            frame: Frame::of(known),
        }
    }

    /// The counter for a model.
    pub fn of(model: &ModelInfo) -> Self {
        Self::new(&model.tokenizer)
    }

    /// The name of the encoding, if counts are exact; `None` if they are estimates.
    pub fn encoding(&self) -> Option<&'static str> {
        self.known
    }

    /// The tokens of a text. Special tokens in it count as ordinary text.
    pub fn text(&self, text: &str) -> u64 {
        let bytes = text.len() as u64;
        let Some(vocabulary) = self.vocabulary else { return bytes };
        let counted = vocabulary.count(text) as u64;
        if self.known.is_some() {
            return counted;
        }
        counted.saturating_mul(CAUTION).div_ceil(CAUTION_PER).min(bytes)
    }

    /// The tokens of a whole request as it is sent: every message with its frame, the beginning of
    /// the answer, and the schema of the answer, if any, as JSON.
    ///
    /// Providers do not document how they present a schema to their models; the JSON is the best
    /// available estimate.
    pub fn request(&self, request: &ChatRequest) -> u64 {
        let messages = request.messages.iter().map(|message| self.message(&message.text));
        let answer = request.answer.as_ref();
        let schema = answer.map_or(0, |form| {
            self.text(&form.name) + self.text(&form.schema.to_string()) + self.frame.message
        });
        messages.sum::<u64>() + schema + self.frame.request
    }

    /// The tokens of one message with this text, including its frame.
    pub fn message(&self, text: &str) -> u64 {
        self.text(text) + self.frame.message
    }
}

impl fmt::Debug for TokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCounter").field("encoding", &self.known).finish_non_exhaustive()
    }
}

/// What a chat adds to its texts, in tokens.
#[derive(Clone, Copy)]
struct Frame {
    /// For each message: its role, and where the message begins and ends.
    message: u64,
    /// Once: the beginning of the chat and of the answer.
    request: u64,
}

impl Frame {
    fn of(encoding: Option<&str>) -> Self {
        let (message, request) = match encoding {
            // <|start|>, role, <|message|>, <|end|>; then <|start|>, role, <|message|>.
            Some("o200k_base" | "o200k_harmony" | "cl100k_base") => (4, 3),
            // <|start_header_id|>, role, <|end_header_id|>, blank line, <|eot_id|>.
            Some("llama3") => (5, 5),
            // <|im_start|>, role, newline, <|im_end|>, newline.
            Some("qwen2") => (5, 3),
            // Others take no more than these.
            _ => (6, 6),
        };
        Self { message, request }
    }
}

fn known_encoding(tokenizer: &str) -> Option<&'static str> {
    let by_name = tiktoken::list_encodings().iter().find(|name| **name == tokenizer);
    if let Some(name) = by_name {
        return Some(name);
    }
    let model = tokenizer.rsplit('/').next().unwrap_or_default();
    let lower = model.to_lowercase();
    if OLDER.iter().any(|older| lower.starts_with(older)) {
        return None;
    }
    tiktoken::model_to_encoding(model).or_else(|| tiktoken::model_to_encoding(&lower))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{AnswerForm, ChatMessage};

    /// Counts that the makers of the encodings have published.
    #[test]
    fn known_texts_have_their_known_counts() {
        let long = "antidisestablishmentarianism";
        let birthday = "お誕生日おめでとう";
        let cases = [
            ("gpt2", long, 5),
            ("p50k_base", long, 5),
            ("cl100k_base", long, 6),
            ("o200k_base", long, 6),
            ("gpt2", "2 + 2 = 4", 5),
            ("cl100k_base", "2 + 2 = 4", 7),
            ("o200k_base", "2 + 2 = 4", 7),
            ("gpt2", birthday, 14),
            ("cl100k_base", birthday, 9),
            ("o200k_base", birthday, 8),
            ("cl100k_base", "tiktoken is great!", 6),
            ("o200k_base", "tiktoken is great!", 6),
            ("o200k_base", "", 0),
        ];
        for (encoding, text, count) in cases {
            assert_eq!(TokenCounter::new(encoding).text(text), count, "{encoding} {text}");
        }
    }

    #[test]
    fn models_are_known_by_their_names() {
        let cases = [
            ("o200k_base", Some("o200k_base")),
            ("gpt-4o-mini", Some("o200k_base")),
            ("openai/gpt-4", Some("cl100k_base")),
            ("openrouter/meta-llama/Llama-3.3-70B-Instruct", Some("llama3")),
            ("ollama/llama3.1:8b", Some("llama3")),
            ("Qwen/Qwen2.5-7B", Some("qwen2")),
            ("QWEN3", Some("qwen2")),
            ("meta-llama/Llama-2-7b", None),
            ("mixtral:8x7b", None),
            ("", None),
            ("unknown/model", None),
        ];
        for (name, encoding) in cases {
            assert_eq!(TokenCounter::new(name).encoding(), encoding, "{name}");
        }
    }

    #[test]
    fn unknown_tokenizers_are_estimated_from_above_and_never_beyond_the_bytes() {
        let (known, unknown) = (TokenCounter::new("o200k_base"), TokenCounter::new("unknown"));
        let text = "p95 latency rose from 12 ms to 840 ms at 10:04".repeat(20);
        assert_eq!(unknown.text(&text), (known.text(&text) * 7).div_ceil(5));
        assert_eq!(unknown.text("a b"), 3);
        assert_eq!(unknown.text("€"), 2);
    }

    #[test]
    fn a_request_is_counted_with_everything_that_is_sent() {
        let counter = TokenCounter::new("o200k_base");
        let mut request = ChatRequest {
            phase: "a name that no model sees".into(),
            messages: vec![ChatMessage::system("hello world")],
            answer: None,
            max_output_tokens: 10,
            drawn: None,
        };
        assert_eq!(counter.request(&request), 2 + 4 + 3);
        request.messages.push(ChatMessage::user("hello world"));
        assert_eq!(counter.request(&request), 2 * (2 + 4) + 3);
        let schema = json!({"type": "object"});
        let shown = counter.text(&schema.to_string());
        request.answer = Some(AnswerForm { name: "hello".into(), schema });
        assert_eq!(counter.request(&request), 2 * (2 + 4) + 3 + shown + 1 + 4);
    }

    #[test]
    fn special_tokens_in_telemetry_are_plain_text() {
        let counter = TokenCounter::new("o200k_base");
        assert!(counter.text("<|endoftext|>") > 1);
    }

    #[test]
    fn long_runs_of_one_character_are_counted() {
        let counter = TokenCounter::new("unknown");
        let run = "=".repeat(300_000);
        assert!(counter.text(&run) > 1_000);
    }
}
