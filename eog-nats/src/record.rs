//! What one message says, and the bytes that messages in their order lead to.

use bytes::Bytes;

use crate::Block;

/// One change of a sequence of bytes: everything from `at` on is replaced by the body.
///
/// Adding has `at` where the bytes end; cutting has it before, and an empty body. A writer begins with a
/// record that changes nothing, which keeps every writer before it from adding more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The sequence of the record that it follows; 0 stands for none. Of all that follow the same one the
    /// first counts, and the others count for nothing.
    pub after: u64,
    /// Where the body stands, in bytes from the start.
    pub at: u64,
    /// The writer, and which of its records it is. No two records have the same.
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

/// The bytes that records lead to, and the last record that counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// The sequence of the last record that counts.
    last: u64,
    bytes: Vec<u8>,
}

impl Replay {
    /// Whether a record is the next that counts. One that follows an earlier record came too late: its writer was
    /// no longer, or not yet, the current one.
    ///
    /// # Errors
    /// What is wrong, where it follows a record that is not there.
    pub fn counts(&self, after: u64) -> Result<bool, String> {
        match after <= self.last {
            true => Ok(after == self.last),
            false => Err(format!("it follows message {after}, which is missing or does not count")),
        }
    }

    /// Adds the next record that counts, with the bytes of its body.
    ///
    /// # Errors
    /// What is wrong, where it does not stand in the bytes before.
    pub fn apply(&mut self, sequence: u64, at: u64, body: &[u8]) -> Result<(), String> {
        let length = self.bytes.len();
        let at = usize::try_from(at).ok().filter(|at| *at <= length).ok_or_else(|| {
            format!("it stands at byte {at}, but only {length} bytes come before")
        })?;
        self.bytes.truncate(at);
        self.bytes.extend_from_slice(body);
        self.last = sequence;
        Ok(())
    }

    /// The bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The sequence of the last record that counts, and the bytes.
    pub fn end(self) -> (u64, Vec<u8>) {
        (self.last, self.bytes)
    }
}
