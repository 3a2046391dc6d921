//! The real binary with a language model: a scripted one on the loopback interface.
//!
//! `EOG_KILL_POINTS=all cargo test -p eog-cli --test all killed` kills at every request; by default it
//! is at one or two of each phase.

mod budgets;
mod cases;
mod cassette;
mod crash;
mod detective;
mod diagnosis;
mod faults;
mod hypotheses;
mod interrupt;
mod judging;
pub(crate) mod lab;
mod no_calls;
mod on_call;
use crate::on_call_lab;
mod over_mcp;
mod quester;
mod quests;
pub(crate) mod reader;
mod readers;
mod searcher;
mod searching;
pub(crate) mod server;
