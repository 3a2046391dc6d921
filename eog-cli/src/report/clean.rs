//! Telemetry is untrusted text: made harmless before a terminal, a page or a drawing shows it.

pub(crate) use eog_prompts::words::clean;
use eog_prompts::words::{clean_up_to, is_harmful};

/// Without control characters and direction overrides, whatever its length.
pub(crate) fn clean_line(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { ' ' } else { c }).collect()
}

/// JSON of the same meaning in which such characters stand as escapes. They occur inside of its
/// texts alone.
pub(crate) fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match is_harmful(c) && c != '\n' {
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => escaped.push(c),
        }
    }
    escaped
}

/// Cleaned, without spaces at its ends, and cut after so many characters.
pub(super) fn clean_to(text: &str, limit: usize) -> String {
    let clean = clean(text.trim());
    match clean.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", clean[..end].trim_end()),
        None => clean.into_owned(),
    }
}

/// Cleaned, and with the characters that mean something in Markdown made plain.
pub(super) fn for_markdown(text: &str) -> String {
    plain(&clean(text))
}

/// Like [`for_markdown`], of a text that may be longer than a piece of telemetry.
pub(super) fn for_markdown_up_to(text: &str, limit: usize) -> String {
    plain(&clean_up_to(text, limit))
}

fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '&' => plain.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => {
                plain.push('\\');
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}

/// Cleaned, for use between backquotes in Markdown.
pub(super) fn for_markdown_code(text: &str) -> String {
    clean(text).replace('`', "'")
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
        let json = "{\n  \"a\": \"\u{9b}2J\u{202e}x\u{7f}é\"\n}";
        let escaped = escape_json(json);
        assert!(!escaped.chars().any(|c| is_harmful(c) && c != '\n'), "{escaped:?}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&escaped), read(json));
    }

    #[test]
    fn markdown_means_nothing() {
        assert_eq!(for_markdown("[x](y) <img>"), "\\[x\\](y) &lt;img&gt;");
    }
}
