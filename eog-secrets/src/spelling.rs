//! Letters in other spellings: `\u0077` for `w`, and the full-width letters of East Asian keyboards.

use std::ops::Range;

/// A text with its letters as ASCII has them, and where each piece of it came from.
pub(crate) struct Plain {
    pub(crate) text: Vec<u8>,
    /// The places behind letters that were replaced: here, and in the text as it was.
    turns: Vec<(usize, usize)>,
}

impl Plain {
    /// The text in plain spelling, or nothing where it has no other.
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        let mut plain = Self { text: Vec::new(), turns: Vec::new() };
        let mut kept = 0;
        for at in memchr::memchr2_iter(b'\\', 0xef, text) {
            let tail = text.get(at..).unwrap_or_default();
            let Some((letter, length)) = letter(tail).filter(|_| at >= kept) else { continue };
            plain.text.extend_from_slice(text.get(kept..at).unwrap_or_default());
            plain.text.push(letter);
            kept = at + length;
            plain.turns.push((plain.text.len(), kept));
        }
        if plain.turns.is_empty() {
            return None;
        }
        plain.text.extend_from_slice(text.get(kept..).unwrap_or_default());
        Some(plain)
    }

    /// The same range in the text as it was.
    pub(crate) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let next = self.turns.partition_point(|(here, _)| *here <= at);
            let (here, there) = next.checked_sub(1).map_or((0, 0), |last| self.turns[last]);
            there + (at - here)
        };
        place(range.start)..place(range.end)
    }
}

/// The letter that a text begins with in another spelling, and how long that is. Quotes and backslashes
/// stay as they are: they would close what they stand in.
fn letter(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'\\', b'u', b'0', b'0', high, low, ..] => {
            let digit = |b: &u8| char::from(*b).to_digit(16);
            let letter = u8::try_from(digit(high)? * 16 + digit(low)?).ok()?;
            let is_plain = (0x20..0x7f).contains(&letter) && !b"\"'\\".contains(&letter);
            is_plain.then_some((letter, 6))
        }
        [0xef, 0xbc, low @ 0x81..=0xbf, ..] => Some((low - 0x81 + b'!', 3)),
        [0xef, 0xbd, low @ 0x80..=0x9e, ..] => Some((low - 0x80 + b'`', 3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_plain_and_places_are_kept() {
        let text = "a \\u0070\\u003d\u{ff41}\u{ff5e}\u{ff5f} \\u0022 \\u00e9 z";
        let plain = Plain::of(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8_lossy(&plain.text), "a p=a~\u{ff5f} \\u0022 \\u00e9 z");
        for (range, expected) in
            [(0..2, "a "), (2..3, "\\u0070"), (2..4, "\\u0070\\u003d"), (4..6, "\u{ff41}\u{ff5e}")]
        {
            assert_eq!(text.get(plain.original(&range)), Some(expected), "{range:?}");
        }
        let end = plain.text.len();
        assert_eq!(text.get(plain.original(&(end - 1..end))), Some("z"));
        assert!(Plain::of("\\u0022 é 日本 \\".as_bytes()).is_none());
    }
}
