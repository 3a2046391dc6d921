//! The real binary with a language model: a scripted one on the loopback interface.
//!
//! `EOG_KILL_POINTS=all cargo test -p eog-cli --test llm killed` kills at every request; by default it
//! is at one or two of each phase.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod budgets;
mod cassette;
mod crash;
mod detective;
mod diagnosis;
mod faults;
mod hypotheses;
mod interrupt;
mod judging;
mod lab;
mod no_calls;
mod on_call;
#[path = "../on_call_lab/mod.rs"]
#[expect(dead_code, reason = "of the helpers only some are needed here")]
mod on_call_lab;
mod over_mcp;
mod quester;
mod quests;
mod reader;
mod readers;
mod searcher;
mod searching;
mod server;
