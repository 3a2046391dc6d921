//! Data as JSON inside of HTML: nothing in it can end its element.

use eog_report::clean::is_harmful;
use serde::Serialize;

/// JSON without any character that HTML reads as markup, and without control characters or direction
/// overrides: they are escaped, so that the meaning is the same.
pub(crate) fn json(data: &impl Serialize) -> String {
    // Numbers, texts and lists alone: this cannot fail.
    let json = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    let is_harmful = |c: char| matches!(c, '<' | '>' | '&') || is_harmful(c);
    let mut inert = String::with_capacity(json.len());
    let mut rest = json.as_str();
    while let Some(c) = rest.chars().find(|c| !c.is_ascii_graphic() && *c != ' ' || is_harmful(*c))
    {
        let (before, after) = rest.split_once(c).unwrap_or((rest, ""));
        inert.push_str(before);
        match is_harmful(c) {
            true => inert.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => inert.push(c),
        }
        rest = after;
    }
    inert.push_str(rest);
    inert
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_the_meaning_stays() {
        let hostile = "</script><script>alert(1)</script><!-- & \u{2028}\u{202e}\u{1b}[31m";
        let inert = json(&hostile);
        for c in ['<', '>', '&', '\u{2028}', '\u{202e}', '\u{1b}'] {
            assert!(!inert.contains(c), "{inert}");
        }
        assert_eq!(serde_json::from_str::<String>(&inert).unwrap(), hostile);
    }
}
