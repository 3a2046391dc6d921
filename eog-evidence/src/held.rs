//! What is held in memory, as far as it is counted.

/// What an allocation costs besides what is asked for, in bytes.
pub(crate) const HEAP: usize = 16;
