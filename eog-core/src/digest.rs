//! Canonical bytes and digests. Equal values give equal bytes: fields keep their declared order
//! and maps are sorted.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// A 32-byte BLAKE3 digest, written as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of the canonical bytes of a value.
    pub fn of(value: &impl Serialize) -> Self {
        Self(*blake3::hash(&canonical_bytes(value)).as_bytes())
    }

    /// All bits zero: what the first ledger entry names as its predecessor.
    pub const ZERO: Self = Self([0; 32]);
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for Digest {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let hash = blake3::Hash::from_hex(&text)
            .map_err(|error| format!("{text:?} is not a digest of 64 hex digits: {error}"))?;
        Ok(Self(*hash.as_bytes()))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&blake3::Hash::from(self.0).to_hex())
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// The canonical bytes of a value: compact JSON.
///
/// The vocabulary holds only strings, finite numbers, sequences and sorted maps with string keys,
/// for which JSON cannot fail; anything else would be a defect of this crate.
pub(crate) fn canonical_bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|error| unreachable!("vocabulary is JSON: {error}"))
}
