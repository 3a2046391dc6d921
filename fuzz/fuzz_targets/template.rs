//! A template of messages.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_oncall::fuzzing::template(bytes));
