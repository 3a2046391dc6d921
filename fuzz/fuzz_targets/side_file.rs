//! A side file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog::fuzzing::side_file(bytes));
