//! Untrusted text made harmless: telemetry and the words of models are data, whatever they hold.
//!
//! Each form of a report escapes its own markup beyond that.

use std::borrow::Cow;

pub use eog_core::ledger::{escape_json, is_harmful};

/// Longest piece of telemetry that a report shows, in characters.
pub const MAX_CHARS: usize = 400;

/// One line of at most [`MAX_CHARS`] without control characters (escape sequences among them) or
/// direction overrides.
///
/// ```
/// use eog_report::clean::clean;
/// assert_eq!(clean("a\u{1b}[2Jb\nc\u{202e}d"), "a [2Jb c d");
/// ```
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_CHARS && !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(clean_up_to(text, MAX_CHARS))
}

/// Like [`clean`], with another limit: what a model wrote may be longer than a line of telemetry.
pub fn clean_up_to(text: &str, limit: usize) -> String {
    let mut line: String =
        text.chars().take(limit).map(|c| if is_harmful(c) { ' ' } else { c }).collect();
    if text.chars().nth(limit).is_some() {
        line.push('…');
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cleaned, without spaces at its ends, and cut after so many characters.
pub fn clean_to(text: &str, limit: usize) -> String {
    let clean = clean(text.trim());
    match clean.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", clean[..end].trim_end()),
        None => clean.into_owned(),
    }
}

/// Without control characters and direction overrides, whatever its length.
pub fn clean_line(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_overrides_are_gone() {
        assert_eq!(clean("a\u{1b}[2Jb\nc\u{202e}d"), "a [2Jb c d");
        assert_eq!(clean("plain – naïve ✓"), "plain – naïve ✓");
        assert_eq!(clean(&"x".repeat(5000)).chars().count(), 401);
    }

    #[test]
    fn spaces_at_the_ends_are_gone() {
        assert_eq!(clean_to(" not ready: ", 40), "not ready:");
        assert_eq!(clean_to("not ready", 4), "not…");
    }

    #[test]
    fn escaped_json_means_the_same() {
        let json = "{\n  \"a\": \"\u{9b}2J\u{202e}x\u{7f}é\u{2060}\u{e0041}\u{1f600}\"\n}";
        let escaped = escape_json(json);
        assert!(!escaped.chars().any(|c| is_harmful(c) && c != '\n'), "{escaped:?}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&escaped), read(json));
    }
}
