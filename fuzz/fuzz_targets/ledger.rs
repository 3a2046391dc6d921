//! A ledger as JSON lines.
#![no_main]

#[path = "../../eog-sre/tests/readers/ledger.rs"]
mod ledger;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| ledger::check(text));
