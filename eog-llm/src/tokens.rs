//! Upper bounds for the tokens of a request.

use eog_prompts::{ChatRequest, ModelInfo};
use tiktoken::CoreBpe;

/// The most that providers add around each message.
const PER_MESSAGE: u64 = 8;

/// The maximum number of tokens in the prompt of a request. If the tokenizer is unknown, another
/// one counts and half is added.
pub(crate) fn prompt(info: &ModelInfo, request: &ChatRequest) -> u64 {
    let counter = Counter::of(&info.tokenizer);
    let messages: u64 =
        request.messages.iter().map(|message| counter.count(&message.text) + PER_MESSAGE).sum();
    let form = request.answer.as_ref().map_or(0, |form| {
        counter.count(&form.name) + counter.count(&form.schema.to_string()) + 8 * PER_MESSAGE
    });
    messages + form
}

/// The maximum number of tokens in the answer.
pub(crate) fn output(info: &ModelInfo, request: &ChatRequest) -> u32 {
    request.max_output_tokens.min(info.max_output_tokens).max(1)
}

struct Counter {
    encoding: Option<&'static CoreBpe>,
    exact: bool,
}

impl Counter {
    fn of(tokenizer: &str) -> Self {
        match tiktoken::get_encoding(tokenizer).or_else(|| tiktoken::encoding_for_model(tokenizer))
        {
            Some(encoding) => Self { encoding: Some(encoding), exact: true },
            None => Self { encoding: tiktoken::get_encoding("o200k_base"), exact: false },
        }
    }

    fn count(&self, text: &str) -> u64 {
        let tokens = self.encoding.map_or(text.len(), |encoding| encoding.count(text)) as u64;
        if self.exact { tokens } else { tokens + tokens.div_ceil(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::Counter;

    #[test]
    fn an_unknown_tokenizer_counts_more() {
        let text = "the quick brown fox jumps over the lazy dog";
        let known = Counter::of("o200k_base").count(text);
        assert_eq!(known, 9);
        assert_eq!(Counter::of("unknown model").count(text), 14);
    }
}
