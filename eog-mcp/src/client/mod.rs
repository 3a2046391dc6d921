//! A context contract over the tools of MCP servers.
