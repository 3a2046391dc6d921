//! The id of the request that a log line belongs to.

use std::borrow::Cow;

/// Names of fields that hold such an id, without marks between their words.
const NAMES: [&str; 8] = [
    "traceid",
    "trace",
    "requestid",
    "xrequestid",
    "reqid",
    "correlationid",
    "xb3traceid",
    "dd.traceid",
];

/// Shortest and longest id, in bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 6..=64;

/// How much of a line is searched, in bytes.
const MAX_LINE: usize = 4096;

/// The id of a trace or a request that a line names: the value of a field such as `trace_id=…`,
/// `"traceId": "…"` or `request_id: …`; else an id by its form, which is 32 hexadecimal digits (W3C Trace
/// Context), a UUID, or 16 hexadecimal digits with letters among them. Ids of zeros only are none.
///
/// ```
/// use eog_evidence::request_id;
/// assert_eq!(request_id("payment failed trace_id=4bf92f3577b34da6"), Some("4bf92f3577b34da6"));
/// assert_eq!(request_id("{\"requestId\": \"mxrtsm\", \"level\": 3}"), Some("mxrtsm"));
/// assert_eq!(
///     request_id("[9f1c2e34-0a1b-4c2d-8e3f-a1b2c3d4e5f6] no stock"),
///     Some("9f1c2e34-0a1b-4c2d-8e3f-a1b2c3d4e5f6")
/// );
/// assert_eq!(request_id("took 1700000000000000 ns"), None);
/// ```
pub fn request_id(line: &str) -> Option<&str> {
    let end = (0..=MAX_LINE.min(line.len())).rev().find(|at| line.is_char_boundary(*at))?;
    let line = line.get(..end)?;
    let words = || Words { line, at: 0 };
    named(words(), line).or_else(|| words().map(|(_, word)| word).find(|word| is_id(word)))
}

/// An id as it is compared: ids are written in upper and lower case, and with or without hyphens.
pub(super) fn comparable(id: &str) -> Cow<'_, str> {
    match id.bytes().any(|byte| byte == b'-' || byte.is_ascii_uppercase()) {
        true => Cow::Owned(id.chars().filter(|c| *c != '-').flat_map(char::to_lowercase).collect()),
        false => Cow::Borrowed(id),
    }
}

/// The value of the first field with a known name.
fn named<'t>(words: Words<'t>, line: &'t str) -> Option<&'t str> {
    let mut words = words.peekable();
    while let Some((start, name)) = words.next() {
        let (value_at, value) = words.peek()?;
        let between = line.get(start + name.len()..*value_at).unwrap_or_default();
        let is_spaced = between.contains(' ');
        let assigns = match between.contains('=') {
            true => !is_spaced,
            false => between.contains(':') && between.len() <= 5,
        };
        // "trace: request failed" names none.
        let is_id = name.to_ascii_lowercase().ends_with("id")
            || value.bytes().any(|byte| byte.is_ascii_digit());
        let usable = LENGTHS.contains(&value.len()) && value.bytes().any(|byte| byte != b'0');
        if assigns && is_name(name) && is_id && usable && *value != "undefined" {
            return Some(value);
        }
    }
    None
}

fn is_name(word: &str) -> bool {
    let plain = || word.bytes().filter(|byte| !matches!(byte, b'-' | b'_'));
    let is = |name: &&str| plain().map(|byte| byte.to_ascii_lowercase()).eq(name.bytes());
    NAMES.iter().any(is)
}

/// Whether a word is an id by its form.
fn is_id(word: &str) -> bool {
    let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has = |which: fn(&u8) -> bool| word.as_bytes().iter().any(which);
    let form = match word.len() {
        32 => hexadecimal(word),
        16 => hexadecimal(word) && has(u8::is_ascii_alphabetic),
        36 => {
            let lengths = word.split('-').map(str::len);
            lengths.eq([8, 4, 4, 4, 12]) && word.split('-').all(hexadecimal)
        }
        _ => false,
    };
    form && has(u8::is_ascii_digit) && word.bytes().any(|byte| !matches!(byte, b'0' | b'-'))
}

/// Runs of letters, digits, `-`, `_` and `.`, with their places.
struct Words<'t> {
    line: &'t str,
    at: usize,
}

impl<'t> Iterator for Words<'t> {
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let rest = self.line.get(self.at..)?;
        let start = self.at + rest.find(is_part)?;
        let rest = self.line.get(start..)?;
        let end = start + rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at = end;
        Some((start, self.line.get(start..end)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_requests_are_found() {
        let cases = [
            ("", None),
            ("failed", None),
            (
                "trace=4bf92f3577b34da6a3ce929d0e0e4736 failed",
                Some("4bf92f3577b34da6a3ce929d0e0e4736"),
            ),
            ("[traceID: 4bf92f3577b34da6]", Some("4bf92f3577b34da6")),
            ("X-Request-Id: mxrtsm", Some("mxrtsm")),
            (
                "{\"trace_id\":\"4bf92f3577b34da6\",\"span_id\":\"00f067aa0ba902b7\"}",
                Some("4bf92f3577b34da6"),
            ),
            ("span 00f067aa0ba902b7 of 4bf92f3577b34da6", Some("00f067aa0ba902b7")),
            ("trace_id=00000000000000000000000000000000", None),
            ("trace_id= span_id=", None),
            ("trace_id=null", None),
            ("at 1700000000000000", None),
            ("commit deadbeefdeadbeef", None),
            ("trace: request failed", None),
            ("tracing is on", None),
            ("µ trace_id=abcdéf12", Some("abcdéf12")),
        ];
        for (line, expected) in cases {
            assert_eq!(request_id(line), expected, "{line}");
        }
        assert_eq!(comparable("4BF9-2f35"), "4bf92f35");
        assert_eq!(comparable("4bf92f35"), "4bf92f35");
    }
}
