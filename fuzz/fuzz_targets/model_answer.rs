//! A model's answer.
#![no_main]

#[path = "../../eog-prompts/tests/fuzzed/answer.rs"]
mod answer;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| answer::check(bytes));
