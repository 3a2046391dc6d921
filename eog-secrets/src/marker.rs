//! What stands in place of a secret.

use std::ops::Range;

use memchr::memmem;

/// What stands in place of a secret.
///
/// A reader who numbers the secrets of a place writes `[masked 1]`, `[masked 2]`; these are markers
/// as well.
pub const MASK: &str = "[masked]";

/// How markers begin.
const START: &[u8] = b"[masked";

/// The end of the marker at the beginning of a text, if there is one.
fn end(text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(START)?;
    let number = match rest.strip_prefix(b" ") {
        Some(digits) => 1 + digits.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        None => 0,
    };
    (rest.get(number) == Some(&b']') && number != 1).then_some(START.len() + number + 1)
}

/// Whether a text is a marker and nothing else.
pub(crate) fn is_marker(text: &[u8]) -> bool {
    end(text) == Some(text.len())
}

/// Whether a text begins with a marker.
pub(crate) fn leads(text: &[u8]) -> bool {
    end(text).is_some()
}

/// All markers of a text, in order.
pub(crate) fn all(text: &[u8]) -> Vec<Range<usize>> {
    memmem::find_iter(text, START).filter_map(|at| Some(at..at + end(text.get(at..)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_markers_are_markers() {
        assert!(is_marker(b"[masked]") && is_marker(b"[masked 12]"));
        assert!(!is_marker(b"[masked ]") && !is_marker(b"[masked]x") && !is_marker(b"[masked x]"));
        assert_eq!(all(b"a [masked] [masked 3] [masked"), [2..10, 11..21]);
    }
}
