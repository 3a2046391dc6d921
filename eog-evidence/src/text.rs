//! Small, bounded pieces of text. Telemetry is untrusted: whatever is quoted is cut to size.

use eog_core::{ChangeDetail, EntityId, Timestamp};
use jiff::SignedDuration;

/// At most `limit` characters of a text on one line, with an ellipsis where something was cut.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
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
    fn time_between_is_in_whole_seconds() {
        let from: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
        let to: Timestamp = "2026-01-01T10:04:10.5Z".parse().unwrap();
        assert_eq!(span_between(from, to), "4m 10s");
    }
}
