//! MCP both ways: context for eog from any server, and eog as a server for any agent.
//!
//! - [`client`]: a context contract over the tools of MCP servers. It is a crate of its own, below the
//!   session that opens sources; the server stands above it.
//! - [`server`]: investigations and the tools over snapshots, offered to agents.

pub use eog_mcp_client as client;

pub mod server;
