//! Tests of the engine through its public API, as one binary.

mod architecture;
mod calls;
mod checkpoints;
#[cfg(unix)]
mod command;
mod concurrency;
mod controls;
mod dead_source;
mod engine;
mod examples;
mod journaled;
mod machines;
mod memory;
mod running;
mod stress;
mod travel;
