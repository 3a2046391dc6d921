//! A cassette.
#![no_main]

#[path = "../../eog-llm/tests/fuzzed/cassette.rs"]
mod cassette;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| cassette::check(bytes));
