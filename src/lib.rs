#![doc = include_str!("../README.md")]

mod command;
mod engine;
mod events;
mod handle;
mod journal;
pub mod stress;
pub mod travel;

pub use command::CommandPolicy;
pub use engine::{Engine, Finished, Limits};
pub use eog_core::*;
pub use events::{Event, EventSender, EventStream, events};
pub use handle::{Controls, Handle, handle};
pub use journal::{CutTail, Journal, JournalError, MAX_ENTRY_BYTES, Recovered};
