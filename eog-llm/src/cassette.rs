//! Recorded traffic with models, to be replayed without them.

mod difference;
mod entry;
mod file;
mod model;

pub use file::{Cassette, CassetteError};
pub use model::{CassetteMode, CassetteModel};
