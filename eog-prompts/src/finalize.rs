//! The end of an investigation: its result written by a model, as a
//! [`Narrative`](eog_report::Narrative).

mod check;
mod clock;
mod finalizer;

pub use finalizer::{Finalized, Finalizer};
