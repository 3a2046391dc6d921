//! An incident bundle: its files one after the other, a zero byte between.
#![no_main]

#[path = "../../tests/readers/bundle.rs"]
mod bundle;

use std::fs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, content) in bundle::FILES.iter().zip(bytes.split(|byte| *byte == 0)) {
        fs::write(folder.path().join(name), content).expect("a file in it");
    }
    bundle::check(folder.path());
});
