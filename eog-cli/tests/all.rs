//! Tests of the command, as one binary: a hundred modules that were linked one by one took minutes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cache;
#[cfg(unix)]
mod cases;
mod cmd;
mod common;
mod eval;
mod flash_sale;
mod fleet;
mod html;
mod intake;
mod ledger_commands;
#[cfg(unix)]
mod live;
mod live_cluster;
mod live_sources;
#[cfg(unix)]
mod live_traces;
#[cfg(unix)]
#[path = "llm/main.rs"]
mod llm;
#[path = "mcp/main.rs"]
mod mcp;
#[cfg(unix)]
mod memory;
#[cfg(unix)]
mod on_call;
#[cfg(unix)]
mod on_call_alertmanager;
#[cfg(unix)]
mod on_call_bounds;
#[cfg(unix)]
mod on_call_intake;
#[cfg(unix)]
#[expect(dead_code, reason = "the rest is for tests that are binaries of their own")]
mod on_call_lab;
#[cfg(unix)]
mod on_call_otlp;
#[cfg(unix)]
mod on_call_recovery;
#[path = "../../eog-sources/tests/real/mod.rs"]
#[expect(dead_code, reason = "the rest is for other crates")]
mod real;
mod real_incident;
#[cfg(unix)]
mod resume;
#[cfg(unix)]
#[path = "runs/main.rs"]
pub(crate) mod runs;
#[cfg(unix)]
#[path = "secrets/main.rs"]
mod secrets;
#[cfg(unix)]
mod source;
mod stress;
mod tool;
#[cfg(unix)]
mod versions;
