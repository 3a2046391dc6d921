//! A cell with attributes, an event or an object.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_sre::fuzzing::body(bytes));
