//! What log lines of one kind have in common: the text without its values.

use crate::text::shorten;

/// Longest template, in characters.
const MAX_TEMPLATE: usize = 160;

/// What stands in a template for a part that differs from line to line.
pub const HOLE: &str = "<*>";

/// The template of a line: what differs from line to line is replaced by [`HOLE`]. Masked are quoted
/// parts, and words that hold a digit (numbers, ids, addresses, times). At most 160 characters.
///
/// ```
/// let line = "order 4711 of \"ann lee\" took 3ms id=6f9a";
/// assert_eq!(eog_evidence::template(line), "order <*> of <*> took <*> id=<*>");
/// ```
pub fn template(text: &str) -> String {
    let mut pattern = String::new();
    let mut quote: Option<char> = None;
    for word in text.split_whitespace() {
        if let Some(open) = quote {
            if word.trim_end_matches([',', '.', ':', ';', ')', ']', '}']).ends_with(open) {
                quote = None;
            }
            continue;
        }
        let opens = word.chars().find(|c| c.is_alphanumeric() || *c == '"' || *c == '\'');
        let quoted = opens.filter(|c| !c.is_alphanumeric());
        let masked = quoted.is_some() || word.bytes().any(|b| b.is_ascii_digit());
        if let Some(mark) = quoted
            && word.matches(mark).count() % 2 == 1
        {
            quote = Some(mark);
        }
        let part = match (masked, word.split_once('=')) {
            (true, Some((key, _)))
                if !key.bytes().any(|b| b.is_ascii_digit()) && quoted.is_none() =>
            {
                format!("{key}={HOLE}")
            }
            (true, _) => HOLE.to_owned(),
            (false, _) => word.to_owned(),
        };
        if part == HOLE && pattern.ends_with(HOLE) {
            continue;
        }
        if !pattern.is_empty() {
            pattern.push(' ');
        }
        pattern.push_str(&part);
        if pattern.len() > MAX_TEMPLATE * 4 {
            break;
        }
    }
    shorten(&pattern, MAX_TEMPLATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_kind_have_one_pattern() {
        let cases = [
            ("order 4711 placed in 3ms", "order <*> placed in <*>"),
            ("user \"ann lee\" logged in", "user <*> logged in"),
            ("id=6f9a retry", "id=<*> retry"),
            ("a 1 2 3 b", "a <*> b"),
            ("plain words", "plain words"),
            ("", ""),
        ];
        for (line, expected) in cases {
            assert_eq!(template(line), expected);
        }
    }
}
