//! Canonical bytes and digests. Equal values give equal bytes: fields keep their declared order
//! and maps are sorted.

#[cfg(any(test, not(feature = "blake3")))]
mod portable;

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::ids::InvalidId;

/// A 32-byte BLAKE3 digest, written as 64 hex digits.
///
/// ```
/// use eog_core::Digest;
/// let digest = Digest::of(&"cart");
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// assert!("cart".parse::<Digest>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of the canonical bytes of a value.
    pub fn of(value: &impl Serialize) -> Self {
        Self::of_bytes(&canonical_bytes(value))
    }

    /// The digest of these bytes.
    #[cfg(feature = "blake3")]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of these bytes.
    #[cfg(not(feature = "blake3"))]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(portable::hash(bytes))
    }

    /// All bits zero: what the first ledger entry names as its predecessor.
    pub const ZERO: Self = Self([0; 32]);

    /// As hex digits.
    fn hex(&self) -> String {
        let nibbles = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        nibbles.map(|nibble| char::from(b"0123456789abcdef"[usize::from(nibble)])).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Digest {
    type Err = InvalidId;

    /// Reads 64 hex digits, in upper or lower case.
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let reason = "it does not consist of 64 hex digits";
        let invalid = || InvalidId::new("digest", text, reason);
        if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(invalid());
        }
        let mut digest = [0; 32];
        for (at, byte) in digest.iter_mut().enumerate() {
            let digits = &text[2 * at..2 * at + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| invalid())?;
        }
        Ok(Self(digest))
    }
}

impl TryFrom<&str> for Digest {
    type Error = InvalidId;
    fn try_from(text: &str) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidId;
    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hex())
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.hex()
    }
}

/// The canonical bytes of a value: compact JSON.
///
/// The vocabulary holds only strings, finite numbers, sequences and sorted maps with string keys,
/// for which JSON cannot fail; anything else would be a defect of this crate.
pub(crate) fn canonical_bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|error| unreachable!("vocabulary is JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn digests_are_read_as_they_are_written() {
        let digest = Digest::of(&("cart", 1));
        let text = digest.to_string();
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(text.to_uppercase().as_str().try_into(), Ok(digest));
        assert_eq!(serde_json::to_string(&digest).unwrap(), format!("{text:?}"));
        let wrong = ["", "+1", &text[1..], &format!("+{}", &text[1..]), &"é".repeat(32)];
        for wrong in wrong {
            let error = wrong.parse::<Digest>().unwrap_err().to_string();
            assert!(
                error.ends_with("is not usable: it does not consist of 64 hex digits"),
                "{error}"
            );
        }
    }
}
