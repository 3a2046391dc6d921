//! Makes what does not fit a model smaller: by cutting, in chunks, or in rounds.
//!
//! Everything here is a pure function over sizes in tokens; models are asked elsewhere.

mod chunk;
mod fit;
mod rounds;
mod variety;

pub use chunk::chunk_ranges;
pub(crate) use fit::largest_fitting;
pub use fit::{PacketCut, Unfit, fit_packet};
pub(crate) use rounds::{next_cap, pages};
pub(crate) use variety::families;
