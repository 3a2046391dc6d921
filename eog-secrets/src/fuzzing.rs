//! What holds of the masker whatever it is given. The target of `fuzz/` and a test call the same.

use crate::{MASK, Masker, StreamMasker};

/// Stands for a secret.
const CANARY: &str = "cAnArY4711x";

/// Masking is bounded and done once, also in pieces; a secret that has a name never survives, nor does a private block,
/// whatever stands before them.
///
/// # Panics
/// When that does not hold.
pub fn mask(bytes: &[u8]) {
    let masker = Masker::new();
    let masked = masker.mask_bytes(bytes);
    assert!(masked.len() <= Masker::MAX_GROWTH * bytes.len(), "it grew too much");
    assert_eq!(masker.mask_bytes(&masked), masked, "masked twice");
    for size in [1, 7, 4096] {
        let mut stream = StreamMasker::new();
        let mut shown: Vec<u8> = bytes.chunks(size).flat_map(|piece| stream.push(piece)).collect();
        shown.extend(stream.finish());
        assert!(shown.len() <= Masker::MAX_GROWTH * bytes.len(), "it grew too much in pieces");
    }
    let text = String::from_utf8_lossy(bytes);
    let (path, value) = text.split_once('\n').unwrap_or(("", &text));
    let once = masker.mask_value(path, value);
    assert!(once.len() <= (Masker::MAX_GROWTH * value.len()).max(MASK.len()));
    assert_eq!(masker.mask_value(path, &once), once, "a value masked twice");
    let named = format!("{text}\npassword={CANARY}\n");
    assert!(!masker.mask(&named).contains(CANARY), "a named secret survived");
    let public = format!("-----BEGIN CERTIFICATE-----\n{named}-----END CERTIFICATE-----\n");
    assert!(!masker.mask(&public).contains(CANARY), "it survived in a block that is public");
    let private =
        format!("{text}\n-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n");
    assert!(!masker.mask(&private).contains(CANARY), "a private block survived");
}

#[cfg(test)]
#[path = "../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpus_is_masked() {
        super::replay::replay("mask", super::mask);
    }
}
