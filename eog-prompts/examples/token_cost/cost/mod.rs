//! What an investigation costs in tokens: with eog's controller and prompts, and with the paper's.
//!
//! Both are given the same incidents and the same judge, and must end with the same frontier.

mod around;
mod bottling;
mod exchange;
mod incidents;
mod instructions;
mod judge;
mod literal;
mod run;
mod scripted;

#[allow(unused_imports, reason = "the test of the measurement uses a part")]
pub(crate) use around::{Around, around};
pub(crate) use exchange::Cost;
pub(crate) use incidents::{Incident, Origin, bottling_line, flash_sale, generated, recorded};
#[allow(unused_imports, reason = "as above")]
pub(crate) use run::{MAX_PROMPT_TOKENS, Prompts, TOKENIZER, fixed_tokens, measure};

/// Whatever goes wrong ends the measurement.
pub(crate) type Failed = Box<dyn std::error::Error>;
