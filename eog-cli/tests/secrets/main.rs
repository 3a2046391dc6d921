//! A secret of every kind, planted in every text of what comes in, and searched for in everything that is
//! written, served or sent: ledger, journal, reports, pages, captures, messages, traces, cassettes, prompts,
//! answers of tools, the terminal.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../../eog-secrets/tests/table/mod.rs"]
#[allow(dead_code)]
mod kinds;
#[path = "../llm/lab.rs"]
#[allow(dead_code)]
mod lab;
#[path = "../on_call_lab/mod.rs"]
#[allow(dead_code)]
mod on_call_lab;
#[path = "../llm/reader.rs"]
#[allow(dead_code)]
mod reader;
#[path = "../llm/server.rs"]
#[allow(dead_code)]
mod server;

mod bundle;
mod capture;
mod everywhere;
mod fixtures;
mod model;
mod on_call;
mod planted;
mod program;
mod sinks;
