//! Attribute cells: the text that Python prints for a dictionary of strings.

use std::collections::BTreeMap;

use eog_evidence::{mask_named, mask_text};

/// Most entries taken from one cell.
pub(crate) const MAX_ENTRIES: usize = 256;

/// Reads `{'a': 'x', "b": 'it\'s', 'c': 3}` into a sorted map, without secrets.
///
/// Tolerant: values that are not quoted are taken as they stand, nested brackets are kept as text,
/// and a text that breaks off gives the entries before the break.
pub(crate) fn parse(text: &str) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::new();
    let text = text.trim();
    let Some(inner) = text.strip_prefix('{') else { return entries };
    let mut rest = Cursor { text: inner };
    while entries.len() < MAX_ENTRIES {
        rest.skip(|c| c.is_whitespace() || c == ',');
        let Some(key) = rest.item(&[':', '}']) else { break };
        rest.skip(char::is_whitespace);
        if !rest.eat(':') {
            break;
        }
        rest.skip(char::is_whitespace);
        let Some(value) = rest.item(&[',', '}']) else { break };
        entries.insert(mask_text(&key), mask_named(&key, &value));
    }
    entries
}

struct Cursor<'a> {
    text: &'a str,
}

impl Cursor<'_> {
    fn skip(&mut self, which: impl Fn(char) -> bool) {
        self.text = self.text.trim_start_matches(which);
    }

    fn eat(&mut self, wanted: char) -> bool {
        match self.text.strip_prefix(wanted) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }

    /// A quoted text, or everything up to one of `ends` outside of brackets.
    fn item(&mut self, ends: &[char]) -> Option<String> {
        let first = self.text.chars().next()?;
        if first == '\'' || first == '"' { self.quoted(first) } else { self.bare(ends) }
    }

    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut value = String::new();
        let mut chars = self.text.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.text = self.text.get(at + c.len_utf8()..).unwrap_or_default();
                return Some(value);
            }
            if c != '\\' {
                value.push(c);
                continue;
            }
            match chars.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                other => value.push(other),
            }
        }
        None
    }

    fn bare(&mut self, ends: &[char]) -> Option<String> {
        let mut depth = 0_usize;
        for (at, c) in self.text.char_indices() {
            match c {
                '{' | '[' | '(' => depth += 1,
                '}' | ']' | ')' if depth > 0 => depth -= 1,
                _ if depth == 0 && ends.contains(&c) => {
                    let value = self.text.get(..at)?.trim().to_owned();
                    self.text = self.text.get(at..)?;
                    return (!value.is_empty()).then_some(value);
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read() {
        let cases: [(&str, &[(&str, &str)]); 8] = [
            ("{}", &[]),
            ("", &[]),
            ("{'a': 'x', 'b': 'y'}", &[("a", "x"), ("b", "y")]),
            (r#"{"a": "it's", 'b': 'say \'hi\''}"#, &[("a", "it's"), ("b", "say 'hi'")]),
            (
                "{'n': 3, 'l': ['p', 'q'], 'd': {'k': 'v'}}",
                &[("d", "{'k': 'v'}"), ("l", "['p', 'q']"), ("n", "3")],
            ),
            ("{'a': 'x', 'b': 'cut", &[("a", "x")]),
            ("{'a' 'x'}", &[]),
            ("not a dictionary", &[]),
        ];
        for (text, expected) in cases {
            let expected: BTreeMap<_, _> =
                expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn no_prefix_of_a_cell_breaks_the_parser() {
        let cell = r#"{'k.é': "a\"b", 'x': [1, {'y': 'z'}], 'n': None}"#;
        for (end, _) in cell.char_indices() {
            assert!(parse(&cell[..end]).len() <= 3);
        }
        assert_eq!(parse(cell).len(), 3);
    }
}
