//! Whether text looks drawn at random, and what base64 holds.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Shannon entropy in bits a byte: 0 for one letter repeated, 6 at most for base64.
pub(crate) fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    text.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let total = text.len() as f64;
    let share = |count: &u32| f64::from(*count) / total;
    let used = counts.iter().filter(|count| **count > 0);
    -used.map(|count| share(count) * share(count).log2()).sum::<f64>()
}

/// Which letters a text has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Letters {
    pub(crate) lower: bool,
    pub(crate) upper: bool,
    pub(crate) digit: bool,
    /// Punctuation, and all that is not ASCII.
    pub(crate) other: bool,
}

impl Letters {
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut letters = Self::default();
        for byte in text {
            match byte {
                b'a'..=b'z' => letters.lower = true,
                b'A'..=b'Z' => letters.upper = true,
                b'0'..=b'9' => letters.digit = true,
                _ => letters.other = true,
            }
        }
        letters
    }
}

/// Whether all of it are hexadecimal digits: commits, digests, trace ids and UUIDs.
pub(crate) fn is_hex(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}

/// Whether a long word is base64 of random bytes, rather than a path or a name in camel case.
///
/// Neighbours in such base64 are of different classes (capital, small letter, digit) with
/// probability 0.58, in names with 0.1 to 0.25. At 40 letters the standard deviation is 0.08, so
/// that 0.3 lies three and a half of them below. Turns at punctuation do not count: names of many
/// parts have those.
pub(crate) fn is_random(word: &[u8]) -> bool {
    const PERCENT: usize = 30;
    let class = |byte: &u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let letters = Letters::of(word);
    let turns = word.windows(2).filter(|pair| match pair {
        [a, b] => class(a) != class(b) && class(a) < 3 && class(b) < 3,
        _ => false,
    });
    letters.lower
        && letters.upper
        && (letters.digit || word.iter().any(|byte| b"+/".contains(byte)))
        && turns.count() * 100 >= (word.len() - 1) * PERCENT
}

/// Base64 in any alphabet and padding, if it decodes to printable text.
pub(crate) fn decoded(word: &[u8]) -> Option<Vec<u8>> {
    const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, CONFIG);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, CONFIG);
    let safe = word.iter().any(|byte| b"-_".contains(byte));
    let bytes = if safe { URL_SAFE.decode(word) } else { STANDARD.decode(word) }.ok()?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let printable = |c: char| !c.is_control() || c.is_ascii_whitespace();
    (!text.is_empty() && text.chars().all(printable)).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_words_and_names_are_distinguished() {
        for random in
            ["wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "Zq8rT1xWv5Kp3vN7yLkB9x7Qp2LmZ4vT8wAb12Cd"]
        {
            assert!(is_random(random.as_bytes()), "{random}");
        }
        for name in [
            "org/apache/hadoop/mapreduce/v2/app/rm/RMContainerAllocator",
            "TransactionalProductCatalogServiceConfigurationFactory2",
            "4bf92f3577b34da6a3ce929d0e0e4736",
            "blk_38865049064139660_and_a_second_name_behind_it",
        ] {
            assert!(!is_random(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn entropy_is_that_of_shannon() {
        assert!((entropy(b"aaaa") - 0.0).abs() < 1e-9);
        assert!((entropy(b"abcd") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn only_text_is_decoded() {
        assert_eq!(decoded(b"dXNlcjpwYXNz").as_deref(), Some(b"user:pass".as_slice()));
        assert_eq!(decoded(b"dXNlcjpwYXNzMQ==").as_deref(), Some(b"user:pass1".as_slice()));
        assert_eq!(decoded(b"////////"), None);
    }
}
