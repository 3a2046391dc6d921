//! The section `[llm]`.
#![no_main]

#[path = "../../eog-llm/tests/fuzzed/settings.rs"]
mod settings;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| settings::check(bytes));
