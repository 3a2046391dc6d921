//! A journal.
#![no_main]

#[path = "../../eog-sre/tests/readers/journal.rs"]
mod journal;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| journal::check_bytes(bytes));
