//! A Kubernetes `Secret` in text, as JSON or YAML: every value below `data` and `stringData`.

use std::ops::Range;

use memchr::{memchr, memmem};

use crate::marker;

/// Whether the word `secret` at this place is the kind of an object: `kind: Secret`.
pub(crate) fn is_kind(text: &[u8], word: &Range<usize>) -> bool {
    let before = text.get(word.start.saturating_sub(24)..word.start).unwrap_or_default();
    let ends = text.get(word.end).is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'-');
    let sign = before.iter().rposition(|b| !b" \t\"'\\".contains(b));
    let colon = sign.filter(|at| before.get(*at) == Some(&b':'));
    let name = colon.and_then(|at| before.get(..at)).unwrap_or_default();
    let name = name.iter().rposition(|b| !b"\"'\\ ".contains(b)).and_then(|at| name.get(..=at));
    ends && name.is_some_and(|name| name.to_ascii_lowercase().ends_with(b"kind"))
}

/// The values of all `data` and `stringData` maps of a text.
pub(crate) fn values(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for field in [b"data".as_slice(), b"stringData"] {
        let mut from = 0;
        for at in memmem::find_iter(text, field) {
            // A map that was read is not read again from within.
            if at < from || at.checked_sub(1).and_then(|at| text.get(at)).is_some_and(is_word) {
                continue;
            }
            from = values_below(text, at, at + field.len(), &mut found).unwrap_or(from);
        }
    }
    found.retain(|range| !marker::is_marker(text.get(range.clone()).unwrap_or_default()));
    found
}

fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(byte)
}

/// Adds the values of the map under a key. Returns where the map ends.
fn values_below(
    text: &[u8],
    key: usize,
    after: usize,
    found: &mut Vec<Range<usize>>,
) -> Option<usize> {
    let rest = text.get(after..)?;
    let colon = rest.iter().take(12).position(|b| *b == b':')?;
    let gap = |b: &u8| b"\"'\\ \t".contains(b);
    if !rest.get(..colon)?.iter().all(gap) {
        return None;
    }
    let tail = rest.get(colon + 1..)?;
    let spaces = tail.iter().take_while(|b| b" \t\r".contains(b)).count();
    let at = after + colon + 1 + spaces;
    match text.get(at)? {
        // A map without an end reaches to the end of the text, and is read once.
        b'{' => Some(flow(text, at + 1, found).unwrap_or(text.len())),
        b'\n' => Some(block(text, key, at + 1, found)),
        _ => None,
    }
}

/// `{"user":"Ym9i","pw":"eA=="}`, its quotes escaped or not.
fn flow(text: &[u8], start: usize, found: &mut Vec<Range<usize>>) -> Option<usize> {
    let rest = text.get(start..)?;
    let mut at = 0;
    while let Some(sign) = rest.get(at..)?.iter().position(|b| b":}".contains(b)) {
        at += sign;
        if rest.get(at) == Some(&b'}') {
            return Some(start + at);
        }
        let open = at + 1 + rest.get(at + 1..)?.iter().take_while(|b| b" \\\n".contains(b)).count();
        let quote = *rest.get(open)?;
        if !b"\"'".contains(&quote) {
            at += 1;
            continue;
        }
        let inner = rest.get(open + 1..)?;
        let close = memchr(quote, inner).unwrap_or(inner.len());
        let value = inner.get(..close)?;
        let escapes = value.iter().rev().take_while(|b| **b == b'\\').count();
        found.push(start + open + 1..start + open + 1 + close - escapes);
        at = open + 1 + close;
    }
    None
}

/// Lines that are indented deeper than their key.
fn block(text: &[u8], key: usize, start: usize, found: &mut Vec<Range<usize>>) -> usize {
    let indent = |line: &[u8]| line.iter().take_while(|b| **b == b' ').count();
    let before = text.get(..key).unwrap_or_default();
    let line = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let own = key - line;
    let mut at = start;
    for line in text.get(start..).unwrap_or_default().split_inclusive(|b| *b == b'\n') {
        let content = line.trim_ascii();
        if indent(line) <= own && !content.is_empty() {
            break;
        }
        let lead = line.len() - line.trim_ascii_start().len();
        let after_name = memmem::find(content, b": ").map_or(0, |colon| colon + 2);
        let value = content.get(after_name..).unwrap_or_default().trim_ascii_start();
        let names_block = content.ends_with(b":") || matches!(value, b"|" | b">" | b"|-" | b">-");
        if !value.is_empty() && !names_block {
            let end = at + lead + content.len();
            found.push(end - value.len()..end);
        }
        at += line.len();
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        values(text.as_bytes()).into_iter().filter_map(|range| text.get(range)).collect()
    }

    #[test]
    fn values_of_json_and_yaml_are_found() {
        let json = r#"{"kind":"Secret","data":{"user":"Ym9i","pw":"eA=="},"type":"Opaque"}"#;
        assert_eq!(found(json), ["Ym9i", "eA=="]);
        assert_eq!(found(&json.replace('"', "\\\"")), ["Ym9i", "eA=="]);
        let yaml = "kind: Secret\ndata:\n  user: Ym9i\n  pw: >-\n    eA==\ntype: Opaque\n";
        assert_eq!(found(yaml), ["Ym9i", "eA=="]);
        assert_eq!(found("metadata:\n  name: a\n"), [""; 0]);
    }

    #[test]
    fn only_a_kind_is_a_kind() {
        let kind = |text: &str| {
            let at = text.find("Secret").expect("the word");
            is_kind(text.as_bytes(), &(at..at + 6))
        };
        assert!(kind("kind: Secret\n") && kind("{\\\"kind\\\":\\\"Secret\\\"}"));
        assert!(!kind("kind: SecretStore") && !kind("a: Secret"));
    }
}
