//! A stored incident of the service on call.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_oncall::fuzzing::incident(bytes));
