//! MCP both ways: context for eog from any server, and eog as a server for any agent.
//!
//! - [`client`]: a context contract over the tools of MCP servers.
//! - [`server`]: investigations and the tools over snapshots, offered to agents.

pub mod client;
mod lines;
pub mod server;
