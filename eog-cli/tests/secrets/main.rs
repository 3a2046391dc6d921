//! A secret of every kind, planted in every text of what comes in, and searched for in everything that is
//! written, served or sent: ledger, journal, reports, pages, captures, messages, traces, cassettes, prompts,
//! answers of tools, the terminal.

#[path = "../../../eog-secrets/tests/table/mod.rs"]
#[allow(dead_code)]
mod kinds;
use crate::llm::lab;
use crate::llm::reader;
use crate::llm::server;
use crate::on_call_lab;

mod bundle;
mod capture;
mod everywhere;
mod fixtures;
mod model;
mod on_call;
mod planted;
mod program;
mod sinks;
