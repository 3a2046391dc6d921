#![doc = include_str!("../README.md")]

mod command;
/// For the crates of this workspace.
#[doc(hidden)]
pub mod durable;
mod engine;
mod events;
mod handle;
mod journal;
mod memory;
/// For the crates of this workspace.
#[doc(hidden)]
pub mod processes;
mod side;
pub mod stress;
pub mod travel;

pub use command::CommandPolicy;
pub use engine::{Engine, Finished, Limits, Retry, Speculation, SpeculationFigures};
pub use eog_core::*;
pub use events::{EVENT_BUFFER, Event, EventSender, EventStream, events};
pub use handle::{Controls, Handle, handle};
pub use journal::{
    CheckpointError, CutTail, Journal, JournalError, MAX_CHECKPOINT_BYTES, MAX_ENTRY_BYTES, Medium,
    Recovered, read_checkpoint, write_checkpoint,
};
pub use memory::{DecisionMemory, MemoryError, MemoryFigures, Remembering, command_identity};
pub use side::{
    CallFigures, CallRecorder, Durability, MAX_SIDE_LINE_BYTES, RecordError, RunStart, SideCut,
    SideError, SideFile, SideRecord, SideRecords,
};
