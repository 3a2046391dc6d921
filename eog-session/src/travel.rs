//! Ledgers and journals: read, replayed, explained, compared.

mod diff;
mod explain;
mod read;

pub use diff::{Compared, OtherControllers, Parted, diff};
pub use explain::{ExplainError, Explained, explain};
pub use read::{Read, ReadError, read, read_journal};
