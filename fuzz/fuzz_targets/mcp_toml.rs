//! A configuration of MCP servers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_mcp_client::fuzzing::config(bytes));
