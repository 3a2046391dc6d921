//! The answer of an MCP server.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_mcp_client::fuzzing::answer(bytes));
