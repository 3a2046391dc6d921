//! A context contract over the tools of MCP servers.
//!
//! [`McpConfig`] says which servers there are, over standard input and output or streamable HTTP,
//! what they are asked, and how answers become evidence. [`McpSource::open`] starts them and gives
//! what an investigation needs: the incident, and the contract that reports on its entities.
//!
//! A server that offers `get_context(entity_id, start_time, end_time)` is used as it is; ordinary
//! servers are put together by queries with templates and mappings. Whatever servers answer is data:
//! it is bounded, its secrets are masked, and it is never read as a template.
//!
//! [`McpTools`] offers tools of servers to the specialists of a tree search.
//!
//! Every call has a bound, and whatever goes wrong with one is a
//! [`Failure`](eog_core::Failure) of that one context: the ledger records it, and the investigation
//! goes on.

mod config;
mod connection;
mod context;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
/// For the server of this workspace.
#[doc(hidden)]
pub mod lines;
mod mapping;
mod masked;
mod notes;
mod offered;
mod pasted;
mod remote;
mod rows;
mod servers;
mod source;
mod stdio;
mod template;
mod tools;
mod web;

pub use config::McpConfig;
pub use context::McpContext;
pub use error::SourceError;
pub use servers::{Protocol, ServerConfig, ToolConfig, pasted_servers};
pub use source::McpSource;
pub use tools::{McpTools, ToolsConfig, fits};
