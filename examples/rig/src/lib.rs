//! eog within agents of [rig](https://docs.rs/rig-core), and models of rig within eog.
//!
//! - [`Investigate`] is a tool: an agent names an incident and gets its root causes, with their evidence.
//! - [`RigModel`] makes any completion model of rig a [`ChatModel`](eog_prompts::ChatModel), so that it can judge
//!   ([`LlmPolicy`](eog_prompts::LlmPolicy)), choose the start or write the report.
//!
//! Copy what you need: both are small. `tests` shows each of them at work with rig's mock.

mod model;
mod tool;

pub use model::RigModel;
pub use tool::{Arguments, Cause, Found, Investigate, InvestigateError};
