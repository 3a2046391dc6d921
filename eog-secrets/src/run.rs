//! Long words of base64: keys without a name, and text that holds a secret itself.

use std::ops::Range;

use crate::random::{Letters, decoded, is_hex, is_random};

/// Shortest word that is checked.
const SHORTEST: usize = 20;

/// Shortest word that counts as a key by its randomness alone: secret keys of AWS have 40 letters.
const SHORTEST_KEY: usize = 40;

/// Bytes of base64 in both alphabets.
const WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut at = 0;
    while at < 128 {
        let byte = at as u8;
        word[at] = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-' | b'=');
        at += 1;
    }
    word
};

pub(crate) fn is_word(byte: u8) -> bool {
    WORD[usize::from(byte)]
}

/// The long words of a text. Only every twentieth byte is checked where words are short.
fn long_words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = SHORTEST - 1;
    let mut floor = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            if !is_word(text[at]) {
                floor = at + 1;
                at += SHORTEST;
                continue;
            }
            let before = text.get(floor..at).unwrap_or_default();
            let start = at - before.iter().rev().take_while(|b| is_word(**b)).count();
            let after = text.get(at..).unwrap_or_default();
            let end = at + after.iter().take_while(|b| is_word(**b)).count();
            floor = end;
            at = end + SHORTEST;
            if end - start >= SHORTEST {
                return Some(start..end);
            }
        }
        None
    })
}

/// The keys among the long words of a text. `skip` says which words are public, `inner` whether
/// decoded text holds a secret.
pub(crate) fn keys(
    text: &[u8],
    skip: impl Fn(usize) -> bool,
    inner: impl Fn(&[u8]) -> bool,
) -> Vec<Range<usize>> {
    let mut keys: Vec<Range<usize>> = Vec::new();
    for word in long_words(text) {
        // The lines of one key are words as well.
        let known = keys.last().is_some_and(|key| word.start < key.end);
        if !known && !skip(word.start) {
            keys.extend(key_at(text, &word, &inner));
        }
    }
    keys
}

/// The key that a long word is, with the lines of base64 after it.
fn key_at(text: &[u8], word: &Range<usize>, inner: impl Fn(&[u8]) -> bool) -> Option<Range<usize>> {
    let run = text.get(word.clone())?;
    let letters = Letters::of(run);
    if is_hex(run) || !(letters.upper && letters.lower) {
        return None;
    }
    let before = text.get(word.start.saturating_sub(8)..word.start).unwrap_or_default();
    if is_digest(before, run) {
        return None;
    }
    // `name=base64` and paths: the parts count, each for itself.
    let run_start = word.start + name_length(run);
    let run = text.get(run_start..word.end)?;
    if let Some(plain) = (run.len() >= SHORTEST).then(|| decoded(run)).flatten() {
        // What decodes to plain text is readable: it holds a secret, or is none.
        return inner(&plain).then_some(run_start..word.end);
    }
    let key = run.len() >= SHORTEST_KEY && is_random(run) && !is_path(run);
    key.then(|| run_start..lines_end(text, word.end))
}

/// How much of a word is a name and its `=`.
fn name_length(run: &[u8]) -> usize {
    let body = run.iter().rposition(|b| *b != b'=').map_or(0, |at| at + 1);
    let sign = run.get(..body).unwrap_or_default().iter().rposition(|b| *b == b'=');
    sign.map_or(0, |at| at + 1)
}

/// Digests of contents: `sha512-…` of packages, `SHA256:…` of keys of hosts.
fn is_digest(before: &[u8], run: &[u8]) -> bool {
    let own = ["sha256-", "sha384-", "sha512-"];
    own.iter().any(|name| run.starts_with(name.as_bytes())) || before.ends_with(b"SHA256:")
}

/// Whether most parts between slashes are words or names.
fn is_path(run: &[u8]) -> bool {
    let parts = run.split(|b| *b == b'/').filter(|part| !part.is_empty());
    let (mut all, mut named) = (0_usize, 0_usize);
    for part in parts {
        all += 1;
        named += usize::from(!(part.len() >= 4 && is_random(part)));
    }
    all >= 3 && named * 3 >= all * 2 && run.len() / all < 12
}

/// The end of the lines of base64 that follow a key, as in a PEM body without its header. Line ends
/// may be escaped.
fn lines_end(text: &[u8], mut end: usize) -> usize {
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let gap = [b"\r\n".as_slice(), b"\n", b"\\r\\n", b"\\n", b"\\\\n"]
            .iter()
            .find(|gap| rest.starts_with(gap))
            .map_or(0, |gap| gap.len());
        let line = rest.get(gap..).unwrap_or_default();
        let spaces = line.iter().take_while(|b| b" \t".contains(b)).count();
        let body = line.get(spaces..).unwrap_or_default();
        let length = body.iter().take_while(|b| is_word(**b)).count();
        let ends = body.get(length).is_none_or(|b| b"\r\n\\\"' -".contains(b));
        let run = body.get(..length).unwrap_or_default();
        let letters = Letters::of(run);
        // The last line may be short, a word of prose is not base64.
        let coded = length >= 64 || run.ends_with(b"=") || (letters.upper && letters.digit);
        if gap == 0 || length == 0 || !ends || !coded {
            return end;
        }
        end += gap + spaces + length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let holds = |plain: &[u8]| plain.starts_with(b"password");
        let keys = keys(text.as_bytes(), |_| false, holds);
        keys.into_iter().filter_map(|range| text.get(range)).collect()
    }

    #[test]
    fn keys_without_a_name_are_found() {
        let key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
        assert_eq!(found(&format!("it is {key} here")), [key]);
        assert_eq!(found(key), [key]);
        assert_eq!(found("x cGFzc3dvcmQ9aHVudGVyMg== y"), ["cGFzc3dvcmQ9aHVudGVyMg=="]);
        let body = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF0qJQJ1u7nIq6yqzYp8D4bQ1vXyZ\n\
            Zq8rT1xWv5Kp3vN7yLkB9x7Qp2LmZ4vT8wAb12CdEf34Gh56Ij78Kl90Mn12Op34\nq1Wx3A==";
        assert_eq!(found(body), [body]);
    }

    #[test]
    fn evidence_is_no_key() {
        for text in [
            "4bf92f3577b34da6a3ce929d0e0e47364bf92f3577b34da6a3ce929d0e0e4736",
            "123e4567-e89b-12d3-a456-426614174000-and-a-name",
            "org/apache/hadoop/mapreduce/v2/app/rm/RMContainerAllocator",
            "sha512-wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEYwJalrXUtnFEMI/K7MDENG==",
            "SHA256:wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYw12a",
            "TransactionalProductCatalogServiceConfigurationFactory2",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
