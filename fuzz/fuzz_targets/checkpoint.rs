//! A checkpoint, as a file and as its payload.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog::fuzzing::checkpoint(bytes));
