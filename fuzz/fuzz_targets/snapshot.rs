//! A whole snapshot: its files one after the other, a zero byte between.
#![no_main]

#[path = "../../eog-sre/tests/snapshots/everything.rs"]
mod everything;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| everything::check_bytes(bytes));
