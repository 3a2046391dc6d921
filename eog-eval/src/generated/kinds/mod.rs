//! Kinds of systems.

pub(super) mod batch;
mod builder;
pub(super) mod chains;
pub(super) mod events;
pub(super) mod gateway;
pub(super) mod monolith;
mod operations;
pub(super) mod pipeline;
pub(super) mod services;

pub(super) use operations::{Operations, assign};
