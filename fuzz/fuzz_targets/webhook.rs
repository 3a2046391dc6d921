//! A body of Alertmanager's webhook.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eog_oncall::fuzzing::webhook(bytes));
