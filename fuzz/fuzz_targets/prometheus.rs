//! An answer of Prometheus.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_sources::fuzzing::prometheus(bytes));
