//! A file of a decision memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog::fuzzing::memory(bytes));
