//! The decision of a program, by itself and as all that is decided in an investigation.
#![no_main]

#[path = "../../tests/fuzzed/decision.rs"]
mod decision;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    eog::fuzzing::decision(bytes);
    decision::check(bytes);
});
