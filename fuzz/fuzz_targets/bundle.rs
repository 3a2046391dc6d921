//! An incident bundle: its files one after the other, a zero byte between.
#![no_main]

#[path = "../../eog-sre/tests/readers/bundle.rs"]
mod bundle;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| bundle::check_bytes(bytes));
