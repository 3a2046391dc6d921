//! Investigations on NATS: submitted to a queue, worked on by any number of workers, read from anywhere.

mod agents;
mod cases;
mod fetch;
mod follow;
mod host;
mod incidents;
mod list;
mod order;
mod prune;
mod reach;
mod say;
mod serve;
mod state;
mod submit;
mod work;
mod worker;

pub(crate) use cases::{pull, push};
pub(crate) use fetch::fetch;
pub(crate) use list::list;
pub(crate) use prune::prune;
pub(crate) use say::{cancel, tell};
pub(crate) use serve::serve;
pub(crate) use submit::submit;
pub(crate) use worker::worker;
