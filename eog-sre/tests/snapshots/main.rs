//! Snapshots written by the tests: every format, the graph, the evidence, the contract, and input
//! that means harm.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its input must stop")]
#![expect(clippy::needless_pass_by_value, reason = "json! literals read best when passed by value")]

#[path = "../../../fuzz/replay.rs"]
mod replay;

mod accounts;
mod cache;
mod contract;
mod everything;
mod findings;
mod fullness;
mod fuzz;
mod graph;
mod hostile;
mod limits;
mod load;
mod namespaces;
mod reading;
mod secrets;
mod support;
mod telemetry;
