//! Messages of a stream, a zero byte between.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_nats::fuzzing::records(bytes));
