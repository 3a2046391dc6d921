#![doc = include_str!("../README.md")]

mod command;
/// For the crates of this workspace.
#[doc(hidden)]
pub mod durable;
mod engine;
mod events;
mod handle;
pub mod journal;
pub mod memory;
/// For the crates of this workspace.
#[doc(hidden)]
pub mod processes;
mod running;
pub mod side;
pub mod stress;
pub mod travel;

pub use command::CommandPolicy;
pub use engine::{Engine, Finished, Limits, Retry, Speculation, SpeculationFigures};
pub use eog_core::*;
pub use events::{EVENT_BUFFER, Event, EventSender, EventStream, events};
pub use handle::{Controls, Handle, handle};
pub use journal::Journal;
pub use memory::{DecisionMemory, Remembering};
pub use running::{Lost, Running};
pub use side::CallRecorder;
