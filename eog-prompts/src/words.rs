//! Phrases that every form of a report shares, and untrusted text made harmless.

use std::borrow::Cow;

use eog_core::{
    Conclusion, EntityId, EvidenceKind, EvidenceTime, Finding, OriginGroup, Timestamp, Window,
};

/// Longest piece of telemetry that a report shows, in characters.
pub const MAX_CHARS: usize = 400;

/// What a group of the frontier is called: those that the smallest cover can do without are not
/// told as if they were needed.
pub fn cause(conclusion: &Conclusion, group: &OriginGroup) -> &'static str {
    let position = conclusion.frontier.iter().position(|other| other == group);
    match (position.is_some_and(|p| conclusion.cover.contains(&p)), group.mutual) {
        (true, false) => "Root cause",
        (true, true) => "Root causes, each explaining the other",
        (false, false) => "Also possible",
        (false, true) => "Also possible, each explaining the other",
    }
}

/// `1 alert`, `2 alerts`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// An instant to the second, in UTC.
pub fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// A window; the date is said once when it is the same.
pub fn window(window: &Window) -> String {
    let end =
        if window.start().strftime("%F").to_string() == window.end().strftime("%F").to_string() {
            window.end().strftime("%H:%M:%SZ").to_string()
        } else {
            instant(window.end())
        };
    format!("{} to {end}", instant(window.start()))
}

/// When a finding holds.
pub fn time(time: &EvidenceTime) -> String {
    match time {
        EvidenceTime::At(at) => instant(*at),
        EvidenceTime::During(during) => window(during),
    }
}

/// A finding in one line: for a change from what to what, else its excerpt.
pub fn finding(finding: &Finding) -> String {
    match &finding.change {
        Some(change) if finding.kind == EvidenceKind::Change => {
            let old = change.old.as_deref().unwrap_or("(absent)");
            let new = change.new.as_deref().unwrap_or("(removed)");
            format!("{} changed from {old} to {new}", change.path)
        }
        _ => finding.excerpt.clone(),
    }
}

/// The query that gives a finding again, with its source in front unless it says so itself.
pub fn query(source: &str, query: &str) -> String {
    if query.starts_with(source) { query.to_owned() } else { format!("{source}: {query}") }
}

/// Entities by name, separated by commas.
pub fn list<'e>(entities: impl IntoIterator<Item = &'e EntityId>) -> String {
    entities.into_iter().map(EntityId::as_str).collect::<Vec<_>>().join(", ")
}

/// One line of at most [`MAX_CHARS`] without control characters (escape sequences among them) or
/// direction overrides.
///
/// ```
/// use eog_prompts::words::clean;
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

/// Whether a character could move a cursor, turn text around or hide something.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
