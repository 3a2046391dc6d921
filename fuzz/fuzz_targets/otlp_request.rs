//! A request of OTLP: a byte for its kind, then protobuf.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_sources::fuzzing::otlp_request(bytes));
