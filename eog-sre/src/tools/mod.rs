//! The toolset: questions to a snapshot, each a plain function from typed arguments to a typed
//! answer, and all of them by name from JSON to JSON.
//!
//! - [`Toolbox`] keeps a snapshot with its graph and answers calls by name. A server needs nothing
//!   more than [`tools`] and [`Toolbox::call`].
//! - Each tool has a struct of arguments and a function of the same name in this module.
//! - Tools that give rows share [`Filters`], groups, aggregates, sorting and pages.
//!
//! No tool opens a file: all that can be asked is what [`Snapshot::open`] read, with its bounds
//! and with secrets masked. The same call on the same snapshot gives the same bytes.
//!
//! [`Snapshot::open`]: crate::Snapshot::open

mod entities;
mod error;
mod event_analysis;
mod get_context_contract;
mod info;
pub(crate) mod query;
mod toolbox;

pub use error::ToolError;
pub use event_analysis::{EventAnalysis, event_analysis};
pub use get_context_contract::{GetContextContract, get_context_contract};
pub use info::{ToolInfo, tools};
pub use query::{
    Cell, DEFAULT_LIMIT, Filter, Filters, MAX_LIMIT, Names, Operator, Page, Row, TimeRange,
};
pub use toolbox::Toolbox;
