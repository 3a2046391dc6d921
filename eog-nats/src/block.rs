//! Bytes too long for one message: objects that are named by their digest.

use std::fmt;
use std::str::FromStr;

/// Bytes that stand in the object store, by their BLAKE3 digest and their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    digest: blake3::Hash,
    length: u64,
}

impl Block {
    /// The block of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { digest: blake3::hash(bytes), length: bytes.len() as u64 }
    }

    /// How many bytes it has.
    pub fn bytes(self) -> u64 {
        self.length
    }

    /// Its digest, in hexadecimal.
    pub fn digest(self) -> String {
        self.digest.to_hex().to_string()
    }

    /// Whether these are its bytes.
    pub fn is(self, bytes: &[u8]) -> bool {
        self == Self::of(bytes)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.digest.to_hex(), self.length)
    }
}

impl FromStr for Block {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digest, length) = text.split_once(' ').ok_or("a block is a digest and a length")?;
        let digest = blake3::Hash::from_hex(digest).map_err(|error| error.to_string())?;
        let length = length.parse().map_err(|_| format!("{length:?} is not a length"))?;
        Ok(Self { digest, length })
    }
}
