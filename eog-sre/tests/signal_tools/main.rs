//! The tools about traces, metrics and logs: on small snapshots written here, and on what the
//! reference tools said about a recorded incident, when that is at hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its input must stop")]

mod examples;
mod logs;
mod metrics;
mod support;
mod traces;
