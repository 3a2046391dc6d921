//! How much of a text is kept.

/// Longest text kept of a log line, message or description, in characters.
pub const MAX_TEXT: usize = 400;

/// A name as telemetry gives it, cut when it is too long for a name.
pub(super) fn bounded(text: String) -> String {
    if text.len() > MAX_TEXT { eog_evidence::shorten(&text, MAX_TEXT) } else { text }
}
