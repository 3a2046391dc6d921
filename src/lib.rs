//! Placeholder while the crate is being written.
pub use eog_core::*;
