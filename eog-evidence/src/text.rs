//! Small, bounded pieces of text. Telemetry is untrusted: whatever is quoted is cut to size.

use eog_core::evidence::ChangeDetail;
use eog_core::{EntityId, Timestamp};
use jiff::SignedDuration;

/// Longest text that is split into words, in bytes: values can be whole files.
const MAX_TEXT: usize = 16 * 1024;

/// At most `limit` characters of a text on one line, with an ellipsis where something was cut.
///
/// ```
/// assert_eq!(eog_evidence::shorten("too\nlong", 4), "too …");
/// ```
pub fn shorten(text: &str, limit: usize) -> String {
    let mut short = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(limit) {
        short.push(if character.is_control() { ' ' } else { character });
    }
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

/// The lower-case words of a name or text: runs of letters and digits, split again where camelCase
/// begins a word. Of a long text the first 16 KiB.
///
/// ```
/// assert_eq!(eog_evidence::words("HTTPServer_restartCount"), ["http", "server", "restart", "count"]);
/// ```
pub fn words(text: &str) -> Vec<String> {
    let end = (0..=MAX_TEXT.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    let text = text.get(..end.unwrap_or(0)).unwrap_or_default();
    let mut found = Vec::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let begins = character.is_uppercase()
            && (previous.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit())
                || (previous.is_some_and(char::is_uppercase)
                    && characters.peek().is_some_and(|next| next.is_lowercase())));
        if (begins || !character.is_alphanumeric()) && !word.is_empty() {
            found.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        previous = Some(character);
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

/// A number with three significant digits, for people.
///
/// ```
/// assert_eq!(eog_evidence::rounded(0.012345), "0.0123");
/// ```
pub fn rounded(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A path as people read it: `a > b > c`.
pub(crate) fn arrows(path: &[EntityId]) -> String {
    path.iter().map(EntityId::as_str).collect::<Vec<_>>().join(" > ")
}

/// The time between two instants in whole seconds, such as `4m 10s`.
pub(crate) fn span_between(from: Timestamp, to: Timestamp) -> String {
    let whole = SignedDuration::from_secs(to.duration_since(from).as_secs());
    format!("{whole:#}")
}

/// A change in words, such as `limits.memory from 512Mi to 128Mi`.
pub(crate) fn change_in_words(change: &ChangeDetail) -> String {
    let path = shorten(&change.path, 120);
    let value = |text: &str| format!("{:?}", shorten(text, 80));
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("{path} from {} to {}", value(old), value(new)),
        (None, Some(new)) => format!("{path} to {}", value(new)),
        (Some(old), None) => format!("{path} from {} to nothing", value(old)),
        (None, None) => path,
    }
}

/// `1 alert`, `2 alerts`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_is_one_bounded_line() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("too\nlong", 4), "too …");
        assert_eq!(shorten("ééé", 2), "éé…");
    }

    #[test]
    fn text_splits_into_words() {
        let cases = [
            ("productCatalogFailure", "product catalog failure"),
            ("RequestErrorRate_p95", "request error rate p95"),
            ("KubePodOOM", "kube pod oom"),
            ("HTTPServer2Port", "http server2 port"),
            ("data/demo.flag_d-json", "data demo flag d json"),
            ("", ""),
            ("--", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_rounded_for_people() {
        let cases = [
            (0.0, "0"),
            (0.012345, "0.0123"),
            (99.96, "100"),
            (123456.7, "123457"),
            (-2.5, "-2.5"),
        ];
        for (value, expected) in cases {
            assert_eq!(rounded(value), expected);
        }
    }

    #[test]
    fn time_between_is_in_whole_seconds() {
        let from: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        let to: Timestamp = "2026-01-01T10:04:10.5Z".parse().unwrap();
        assert_eq!(span_between(from, to), "4m 10s");
    }
}
