//! Tokens of a request.

use crate::{ChatRequest, ModelInfo};

/// What a request takes of a model's window.
pub(crate) fn count_request(info: &ModelInfo, request: &ChatRequest) -> u64 {
    let encoding =
        tiktoken::get_encoding(&info.tokenizer).or_else(|| tiktoken::get_encoding("cl100k_base"));
    let count = |text: &str| encoding.map_or(text.len(), |encoding| encoding.count(text));
    request.messages.iter().map(|message| count(&message.text) as u64 + 4).sum::<u64>() + 3
}
