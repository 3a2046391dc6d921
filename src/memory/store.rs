//! Where decisions are kept.

use std::fmt;
use std::path::Path;

use eog_core::Digest;

use super::MemoryError;

/// Where the decisions of a memory are kept: a folder, by default. Any number of processes may
/// use it at once.
///
/// It keeps bytes and returns them. Whether they are a decision is checked by the memory.
pub trait DecisionStore: fmt::Debug + Send + Sync {
    /// What messages call it.
    fn path(&self) -> &Path;

    /// The bytes that are kept under a key. Nothing where there are none.
    ///
    /// # Errors
    /// [`MemoryError`]. The question is asked again then.
    fn read(&self, key: &DecisionKey) -> Result<Option<Vec<u8>>, MemoryError>;

    /// Keeps bytes under a key, whole or not at all, in place of those before. They outlive this process
    /// once it returns.
    ///
    /// # Errors
    /// [`MemoryError`]. The decision is used all the same.
    fn write(&self, key: &DecisionKey, bytes: &[u8]) -> Result<(), MemoryError>;
}

/// Under which a decision is kept: digests alone, since names in packets are untrusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DecisionKey {
    pub(super) identity: Digest,
    pub(super) question: Digest,
}

impl DecisionKey {
    /// The identity of the policy: 16 hexadecimal digits.
    pub fn identity(&self) -> String {
        let mut digits = self.identity.to_string();
        digits.truncate(16);
        digits
    }

    /// The question, with the identity: 64 hexadecimal digits.
    pub fn question(&self) -> String {
        self.question.to_string()
    }
}
