//! Requests of an MCP client, one a line.
#![no_main]

#[path = "../../eog-mcp/tests/fuzzed/requests.rs"]
mod requests;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| requests::check(bytes));
