//! A text that may hold secrets.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_secrets::fuzzing::mask(bytes));
