//! Tools for the specialists of a tree search, beside those of the contract.

mod catalogue;
mod sre;

pub use catalogue::catalogue;
pub use sre::SreTools;
