//! A whole snapshot: its files one after the other, a zero byte between.
#![no_main]

#[path = "../../tests/snapshots/everything.rs"]
mod everything;

use std::fs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for inside in ["alerts", "metrics"] {
        fs::create_dir(folder.path().join(inside)).expect("a folder in it");
    }
    for ((name, _), content) in everything::FILES.iter().zip(bytes.split(|byte| *byte == 0)) {
        fs::write(folder.path().join(name), content).expect("a file in it");
    }
    everything::check(folder.path());
});
