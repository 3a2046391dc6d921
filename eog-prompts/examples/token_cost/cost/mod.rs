//! What an investigation costs in tokens: with eog's controller and prompts, and with the paper's.
//!
//! Both are given the same incidents and the same judge, and must end with the same frontier.

mod around;
mod exchange;
mod incidents;
mod instructions;
mod judge;
mod literal;
mod run;
mod scripted;

pub(crate) use around::{Around, around};
pub(crate) use exchange::Cost;
pub(crate) use incidents::{Incident, Origin, generated, recorded, shipped};
pub(crate) use run::{MAX_PROMPT_TOKENS, Prompts, TOKENIZER, fixed_tokens, measure};

/// Whatever goes wrong ends the measurement.
pub(crate) type Failed = Box<dyn std::error::Error>;
