//! The real binary on a real cluster of three nodes, which `.ci/nats` starts. Says so and succeeds where there
//! is none.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod drill;
mod errors;
mod killed;
mod lab;
mod nodes;
mod on_call;
#[path = "../on_call_lab/mod.rs"]
#[expect(dead_code, reason = "not every test needs all of it")]
mod on_call_lab;
#[path = "../llm/reader.rs"]
#[expect(dead_code, reason = "not every test needs all of it")]
mod reader;
mod said;
mod serve;
#[path = "../llm/server.rs"]
#[expect(dead_code, reason = "not every test needs all of it")]
mod server;
mod shared;
mod whole;
