//! Tools for the specialists of a tree search, beside those of the contract.

mod sre;

pub use sre::SreTools;
