//! Lists of the API of Kubernetes, by their plural names.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_sources::fuzzing::kubernetes(bytes));
