//! What one message says, and the bytes that messages in their order lead to.

use bytes::Bytes;

use crate::Block;

/// One change of a sequence of bytes: everything from `at` on is replaced by the body.
///
/// Adding has `at` where the bytes end; cutting has it before, and an empty body. A writer begins with a
/// record that changes nothing, which keeps every writer before it from adding more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where the body stands, in bytes from the start.
    pub at: u64,
    /// Who wrote it, and which of their records it is. No two records have the same.
    pub write: String,
    /// The body, or where it is.
    pub body: Body,
}

/// The bytes of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// In the message.
    Inline(Bytes),
    /// In the object store.
    Block(Block),
}

impl Record {
    /// How many bytes its body has.
    pub fn bytes(&self) -> u64 {
        match &self.body {
            Body::Inline(bytes) => bytes.len() as u64,
            Body::Block(block) => block.bytes(),
        }
    }
}

/// The bytes that records lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    bytes: Vec<u8>,
}

impl Replay {
    /// Adds the next record, with the bytes of its body.
    ///
    /// # Errors
    /// What is wrong, where the record does not follow: one before it is missing.
    pub fn apply(&mut self, at: u64, body: &[u8]) -> Result<(), String> {
        let length = self.bytes.len();
        let at = usize::try_from(at).ok().filter(|at| *at <= length).ok_or_else(|| {
            format!(
                "it stands at byte {at}, but only {length} bytes come before: messages are missing"
            )
        })?;
        self.bytes.truncate(at);
        self.bytes.extend_from_slice(body);
        Ok(())
    }

    /// The bytes so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
