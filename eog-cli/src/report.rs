//! The result in the forms that people and programs read.

mod agent_output;
mod chain;
mod clean;
mod course;
mod entries;
mod explanation;
mod graph;
mod json;
mod markdown;
mod model;
mod page;
mod stress;
mod text;
mod words;

pub(crate) use agent_output::agent_output;
pub(crate) use clean::{clean, clean_line, escape_json};
pub(crate) use course::forks;
pub(crate) use entries::entries;
pub(crate) use explanation::{explanation, in_one_line, not_judged};
pub(crate) use graph::{dot, mermaid};
pub(crate) use json::json;
pub(crate) use markdown::markdown;
pub(crate) use model::Report;
pub(crate) use page::paragraphs;
pub(crate) use stress::{Ledgers, quoted, stress, stress_json};
pub(crate) use text::text;
