//! A dump of alerts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_sre::fuzzing::alerts(bytes));
